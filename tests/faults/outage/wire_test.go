package outage

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wire passes bytes on between the program and its database, until it is told
// not to.
type wire struct {
	listener net.Listener
	server   string
	done     sync.WaitGroup

	mu    sync.Mutex
	links map[*link]struct{}
	down  bool          // connections break, and are not taken
	deaf  bool          // answers are lost; a connection that this happened to stays so
	delay time.Duration // of each answer
	tear  int           // so many answers are to be passed on in half, then the connection breaks
}

type link struct {
	w              *wire
	client, server net.Conn
	dead           bool // an answer of it was lost
}

func newWire(t testing.TB, server string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	w := &wire{listener: listener, server: server, links: map[*link]struct{}{}}
	w.done.Go(w.accept)
	t.Cleanup(func() {
		listener.Close()
		w.set(func() { w.delay = 0 })
		w.cut(true)
		w.done.Wait()
	})
	return w
}

func (w *wire) address() string { return w.listener.Addr().String() }

func (w *wire) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// cut breaks what there is; with down, what comes too.
func (w *wire) cut(down bool) (broken int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
	for l := range w.links {
		l.client.Close()
		l.server.Close()
	}
	return len(w.links)
}

func (w *wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return // closed
		}
		w.connect(client)
	}
}

func (w *wire) connect(client net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		client.Close()
		return
	}
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		client.Close()
		return
	}
	l := &link{w: w, client: client, server: server}
	w.links[l] = struct{}{}
	w.done.Go(func() { l.pass(server, client, func([]byte) bool { return true }) })
	w.done.Go(func() { l.pass(client, server, l.answer) })
}

// pass copies what from says, for as long as it may.
func (l *link) pass(to, from net.Conn, may func([]byte) bool) {
	defer l.end()
	b := make([]byte, 16<<10)
	for {
		n, err := from.Read(b)
		if n > 0 && may(b[:n]) {
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// answer does to an answer what the wire was told to do.
func (l *link) answer(b []byte) (pass bool) {
	w := l.w
	w.mu.Lock()
	delay, torn := w.delay, w.tear > 0
	l.dead = l.dead || w.deaf
	pass = !l.dead
	if torn {
		w.tear--
	}
	w.mu.Unlock()
	if torn {
		_, _ = l.client.Write(b[:len(b)/2]) // what comes of it is the client's matter
		l.client.Close()
		l.server.Close()
		return false
	}
	time.Sleep(delay)
	return pass
}

func (l *link) end() {
	l.client.Close()
	l.server.Close()
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	delete(l.w.links, l)
}
