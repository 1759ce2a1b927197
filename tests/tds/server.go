// Package tds is a small responder that speaks just enough TDS 7.4 for the
// real driver to connect to it on loopback (encrypt=disable). It has no SQL and
// no tables: a test's function sees each request and says which tokens answer
// it, so that a test can show an adapter every stream that SQL Server is able
// to send, among them those that no server sends on request: error 50000 hidden
// behind 3609, a connection cut between a commit and its answer, a login
// refused.
//
// What the responder keeps is each connection's transaction, since the driver
// follows it through ENVCHANGE tokens: a request to begin, commit or roll back
// that the test leaves alone is answered as SQL Server would, 3902 and 3903
// included.
//
//	srv := tds.Start(t, func(q tds.Query) tds.Reply {
//		if q.Mentions("INSERT INTO reservations") {
//			return tds.Throw(1, "slot is full")
//		}
//		return tds.Reply{} // the ordinary answer
//	})
//	db, err := sql.Open("sqlserver", srv.DSN())
//
// The formats are those of [MS-TDS]; each constant names its section.
package tds

import (
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
)

// Server is one responder. Its methods are safe for concurrent use.
type Server struct {
	t        testing.TB
	answer   func(Query) Reply
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	conns   map[*conn]struct{}
	refusal *Reply // of every login, while not nil
	queries []Query
	stats   Stats
}

// Stats counts what happened on all connections since Start.
type Stats struct {
	Logins     int // accepted; each is one connection
	Refused    int // logins refused
	Resets     int // requests that asked to reset the connection first
	Attentions int // requests to cancel
	Commits    int // transactions committed, answered or not
	Rollbacks  int // transactions rolled back, whoever did it
}

// Start returns a server that listens on loopback until the test ends. answer
// is called for each request after the login, one at a time for one connection
// but by several connections at once; a zero Reply is the ordinary answer.
func Start(t testing.TB, answer func(Query) Reply) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("tds: %v", err)
	}
	s := &Server{t: t, answer: answer, listener: listener, conns: map[*conn]struct{}{}}
	s.running.Add(1)
	go s.accept()
	t.Cleanup(s.Close)
	return s
}

// DSN is a data source name for the driver "sqlserver".
func (s *Server) DSN() string {
	return "sqlserver://clerk:secret@" + s.listener.Addr().String() + "?database=clinic&encrypt=disable"
}

// Close ends the server and each connection and waits for its goroutines. From
// then on nothing listens at the address. It may be called more than once.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		s.t.Errorf("tds: %v", err)
	}
	s.CutAll()
	s.running.Wait()
}

// CutAll closes every connection, as a server does that restarts. The client
// may still send into such a connection and learns of its end when it reads.
func (s *Server) CutAll() { s.closeAll(false) }

// ResetAll resets every connection, as a server does that failed over, or a
// firewall: the client cannot send any more.
func (s *Server) ResetAll() { s.closeAll(true) }

func (s *Server) closeAll(reset bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if tcp, ok := c.socket.(*net.TCPConn); ok && reset {
			_ = tcp.SetLinger(0)
		}
		c.close()
	}
}

// RefuseLogins answers each login from now on with r and closes the connection.
func (s *Server) RefuseLogins(r Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = &r
}

// AllowLogins ends RefuseLogins.
func (s *Server) AllowLogins() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = nil
}

// Queries returns every request so far, in the order of arrival.
func (s *Server) Queries() []Query {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.queries)
}

// Forget empties what Queries returns.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queries = nil
}

// Stats returns the counts so far.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// OpenTransactions counts the connections that have a transaction open.
func (s *Server) OpenTransactions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for c := range s.conns {
		if c.transaction != 0 {
			n++
		}
	}
	return n
}

func (s *Server) accept() {
	defer s.running.Done()
	for {
		socket, err := s.listener.Accept()
		if err != nil {
			return // closed
		}
		c := &conn{server: s, socket: socket, packetSize: defaultPacketSize}
		if !s.enter(c) {
			c.close()
			return
		}
		s.running.Add(1)
		go func() {
			defer s.running.Done()
			defer s.leave(c)
			c.serve()
		}()
	}
}

func (s *Server) enter(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

// leave forgets c. A transaction that is still open ends with its connection,
// and before the client can see that.
func (s *Server) leave(c *conn) {
	defer c.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(c, false)
	delete(s.conns, c)
}

// login numbers c, or says with what its login is refused.
func (s *Server) login(c *conn) *Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusal != nil {
		s.stats.Refused++
		return s.refusal
	}
	s.stats.Logins++
	c.id = s.stats.Logins
	return nil
}

// received notes a request. One that asks for a reset loses its transaction
// first, as after a new login.
func (s *Server) received(c *conn, q *Query) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.Reset {
		s.stats.Resets++
		s.end(c, false)
	}
	q.InTransaction = c.transaction != 0
	s.queries = append(s.queries, *q)
}

func (s *Server) attention() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Attentions++
}

// begin opens a transaction on c and returns its descriptor, never 0.
func (s *Server) begin(c *conn) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(c, false)
	c.begun++
	c.transaction = uint64(c.id)<<32 | uint64(c.begun)
	return c.transaction
}

// finish ends c's transaction and returns its descriptor, 0 if none was open.
func (s *Server) finish(c *conn, commit bool) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end(c, commit)
}

func (s *Server) end(c *conn, commit bool) uint64 {
	descriptor := c.transaction
	if descriptor == 0 {
		return 0
	}
	c.transaction = 0
	if commit {
		s.stats.Commits++
	} else {
		s.stats.Rollbacks++
	}
	return descriptor
}
