// Package faults breaks what lies between the service and a real Postgres, or
// stands in its way, and looks at what reaches a client: connections cut
// around a commit, sessions ended by the server, slots locked by other
// programs, and several replicas at once.
package faults

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// proxy stands between a pool and a Postgres server without TLS. It passes
// everything on, until a statement comes that it was told to cut at.
type proxy struct {
	listener net.Listener
	server   string // host:port
	done     sync.WaitGroup

	mu    sync.Mutex
	cuts  []*cut
	links map[*link]struct{}
	down  bool // new connections are refused
	deaf  bool // requests to cancel a statement are dropped
}

// cut is an order to break the connection that runs a statement, once.
type cut struct {
	statement func(sql string) bool
	where     side
	// meanwhile, if not nil, runs when the server is done with the connection
	// and before the client learns of anything.
	meanwhile func()
	made      chan struct{} // closed once the connection is broken
}

// side says on which side of the statement the connection breaks.
type side int

const (
	statementLost side = iota // the server gets neither it nor anything behind it
	answerLost                // the server has carried it out, the answer is dropped
	answerTorn                // the client gets that it is done, and nothing behind that
)

// link is one connection through the proxy.
type link struct {
	p              *proxy
	client, server net.Conn
	dropping       atomic.Pointer[cut] // answers go nowhere from here on
	names          map[string]string   // statements prepared on it, by name
}

// newProxy listens on loopback until close.
func newProxy(server string) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, server: server, links: map[*link]struct{}{}}
	p.done.Go(p.accept)
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// cutAt gives an order; orders are carried out first come, first served.
func (p *proxy) cutAt(c *cut) *cut {
	c.made = make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cuts = append(p.cuts, c)
	return c
}

// recall takes back the orders that are left and says how many.
func (p *proxy) recall() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := len(p.cuts)
	p.cuts = nil
	return left
}

// setDown breaks every connection and refuses new ones, or takes them again.
func (p *proxy) setDown(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
	for l := range p.links {
		if down {
			l.client.Close()
			l.server.Close()
		}
	}
}

// dropCancels loses what a client sends, on a connection of its own, to have a
// statement cancelled; or passes it on again.
func (p *proxy) dropCancels(drop bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = drop
}

func (p *proxy) drops(hello []byte) bool {
	const cancelRequest = 80877102 // where others have the protocol's version
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.deaf && len(hello) >= 8 && binary.BigEndian.Uint32(hello[4:]) == cancelRequest
}

// close breaks every connection and waits for what served them.
func (p *proxy) close() {
	p.listener.Close()
	p.setDown(true)
	p.done.Wait()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		if l := p.connect(client); l != nil {
			p.done.Go(l.requests)
			p.done.Go(l.answers)
		}
	}
}

func (p *proxy) connect(client net.Conn) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		client.Close()
		return nil
	}
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		client.Close()
		return nil
	}
	l := &link{p: p, client: client, server: server, names: map[string]string{}}
	p.links[l] = struct{}{}
	return l
}

// end closes both sides; it may be called more than once.
func (l *link) end() {
	l.client.Close()
	l.server.Close()
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	delete(l.p.links, l)
}

// requests passes on what the client sends.
func (l *link) requests() {
	defer l.end()
	message, err := readBody(l.client, nil) // the first message has no type
	if err != nil || l.p.drops(message) {
		return
	}
	for err == nil {
		if _, err = l.server.Write(message); err != nil {
			return
		}
		if message, err = readMessage(l.client); err != nil {
			return
		}
		c := l.due(message)
		if c == nil {
			continue
		}
		l.dropping.Store(c)
		if c.where != statementLost {
			continue
		}
		l.server.Close() // it rolls back once it sees this
		l.broken(c)
		return
	}
}

// answers passes on what the server sends. ReadyForQuery ends each round trip:
// by then the statement is carried out and its transaction, if it was a
// COMMIT, is seen by others.
func (l *link) answers() {
	defer l.end()
	for {
		message, err := readMessage(l.server)
		c := l.dropping.Load()
		if err != nil {
			if c != nil && c.where == statementLost {
				<-c.made // the client is not to know before
			}
			return
		}
		if c == nil || c.where == answerTorn && message[0] != 'Z' {
			if _, err := l.client.Write(message); err != nil {
				return
			}
			continue
		}
		if message[0] == 'Z' {
			l.server.Close()
			l.broken(c)
			return
		}
	}
}

func (l *link) broken(c *cut) {
	defer close(c.made) // deferred, as meanwhile may end the goroutine with the test
	defer l.client.Close()
	if c.meanwhile != nil {
		c.meanwhile()
	}
}

// due returns the order to cut at this message, and takes it off the list.
func (l *link) due(message []byte) *cut {
	sql, runs := l.statement(message)
	if !runs {
		return nil
	}
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	if len(l.p.cuts) == 0 || !l.p.cuts[0].statement(sql) {
		return nil
	}
	c := l.p.cuts[0]
	l.p.cuts = l.p.cuts[1:]
	return c
}

// statement returns the SQL that a message has run: Query has it whole, Bind
// names what an earlier Parse of the same connection prepared.
func (l *link) statement(message []byte) (sql string, runs bool) {
	body := message[5:]
	switch message[0] {
	case 'Q':
		sql, _ = text(body)
		return sql, true
	case 'P':
		name, rest := text(body)
		l.names[name], _ = text(rest)
	case 'B':
		_, rest := text(body) // the portal
		name, _ := text(rest)
		return l.names[name], true
	}
	return "", false
}

func text(b []byte) (string, []byte) {
	before, rest, _ := bytes.Cut(b, []byte{0})
	return string(before), rest
}

// readMessage reads one message whole: type, length, body.
func readMessage(r io.Reader) ([]byte, error) {
	kind := make([]byte, 1)
	if _, err := io.ReadFull(r, kind); err != nil {
		return nil, err
	}
	return readBody(r, kind)
}

func readBody(r io.Reader, message []byte) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:]) // counts itself
	if n < 4 || n > 1<<26 {
		return nil, fmt.Errorf("a message of %d bytes is none of Postgres's", n)
	}
	message = append(message, length[:]...)
	at := len(message)
	message = append(message, make([]byte, n-4)...)
	_, err := io.ReadFull(r, message[at:])
	return message, err
}
