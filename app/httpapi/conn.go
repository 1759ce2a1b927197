package httpapi

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofiber/fiber/v2"
)

// Bounds of what is read from a client after its request was refused unread.
const (
	lingerTime  = time.Second
	lingerBytes = 1 << 20
)

// listener hands out connections that can linger, and remembers them, so that
// a shutdown that is out of time can close them.
type listener struct {
	net.Listener
	mu   sync.Mutex
	open map[*conn]struct{}
}

func newListener(ln net.Listener) *listener {
	return &listener{Listener: ln, open: map[*conn]struct{}{}}
}

func (l *listener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, from: l}
	l.mu.Lock()
	l.open[c] = struct{}{}
	l.mu.Unlock()
	return c, nil
}

// closeAll closes every connection that is still open.
func (l *listener) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		_ = c.Conn.Close() // its reader meets the error and closes c
	}
}

type conn struct {
	net.Conn
	from   *listener
	linger atomic.Bool // a request was refused before all of it was read
}

// Close lingers where the client may still be sending: closed at once, the
// unread bytes would make the system reset the connection, and the reset would
// overtake the answer.
func (c *conn) Close() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.linger.Swap(false) {
		if half.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
			_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
		}
	}
	c.from.mu.Lock()
	delete(c.from.open, c)
	c.from.mu.Unlock()
	return c.Conn.Close()
}

// SetWriteDeadline hides that the connection is closed, as it is when a
// shutdown was out of time: fasthttp panics at any error here, and the write
// that follows fails anyway.
func (c *conn) SetWriteDeadline(t time.Time) error {
	if err := c.Conn.SetWriteDeadline(t); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// lingerOnClose is called when a request is refused unread.
func lingerOnClose(nc net.Conn) {
	if c, ok := nc.(*conn); ok {
		c.linger.Store(true)
	}
}

// clientContext is a request's context: it has ended when the client has. No
// one is told (Done is nil), since fasthttp reads nothing meanwhile; who wants
// to know asks Err, which looks at the connection and costs one system call.
type clientContext struct {
	context.Context // the background one
	conn            net.Conn
}

// context is what a request's work is done under: it ends with the client.
func (s *Server) context(c *fiber.Ctx) context.Context {
	return clientContext{context.Background(), c.Context().Conn()}
}

func (c clientContext) Err() error {
	if clientGone(c.conn) {
		return context.Canceled
	}
	return nil
}

// clientGone says whether the client has closed its end. One that only shut
// down its sending half looks the same and counts as gone, as in net/http.
func clientGone(nc net.Conn) bool {
	if c, ok := nc.(*conn); ok {
		nc = c.Conn
	}
	sys, ok := nc.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sys.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	// Control, not Read, which would wait for the reader's lock and heed the
	// deadline for the next request.
	if err := raw.Control(func(fd uintptr) { gone = peerClosed(fd) }); err != nil {
		return true // closed on our side
	}
	return gone
}
