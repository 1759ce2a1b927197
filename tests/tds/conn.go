package tds

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
)

// Message types, [MS-TDS] 2.2.3.1.1.
const (
	typeBatch       = 1
	typeRPC         = 3
	typeReply       = 4
	typeAttention   = 6
	typeTransaction = 14
	typeLogin       = 16
	typePrelogin    = 18
)

// Bits of a packet's status, [MS-TDS] 2.2.3.1.2.
const (
	statusEnd   = 0x01
	statusReset = 0x08
)

const (
	headerSize        = 8
	minPacketSize     = 512
	maxPacketSize     = 32767
	defaultPacketSize = 4096 // until the login has agreed on another
	maxMessageSize    = 16 << 20
)

// conn is one connection, served by one goroutine.
type conn struct {
	server     *Server
	socket     net.Conn
	once       sync.Once
	id         int // in order of login, from 1
	packetSize int

	transaction uint64 // its descriptor, 0 when none is open; guarded by server.mu
	begun       uint32 // transactions so far; guarded by server.mu
}

// message is a request: the payload of its packets.
type message struct {
	kind   byte
	status byte // of the first packet
	data   []byte
}

func (c *conn) close() {
	c.once.Do(func() { _ = c.socket.Close() })
}

// serve answers until the client leaves, the test cuts the connection or the
// server ends.
func (c *conn) serve() {
	if !c.handshake() {
		return
	}
	for {
		m, err := c.read()
		if err != nil {
			return
		}
		if m.kind == typeAttention { // its request was answered meanwhile
			c.server.attention()
			a := answer{conn: c}
			a.done(tokenDone, doneAttention, 0, 0)
			if c.write(a.data, true) != nil {
				return
			}
			continue
		}
		q, err := parseQuery(m)
		if err != nil {
			c.server.t.Errorf("tds: connection %d: %v", c.id, err)
			return
		}
		q.Conn = c.id
		c.server.received(c, &q)
		if !c.reply(q, c.server.answer(q)) {
			return
		}
	}
}

// handshake does PRELOGIN and LOGIN7 and says whether the login was accepted.
func (c *conn) handshake() bool {
	m, err := c.read()
	if err != nil || m.kind != typePrelogin {
		return false
	}
	if c.write(prelogin(), true) != nil {
		return false
	}
	m, err = c.read()
	if err != nil || m.kind != typeLogin {
		return false
	}
	l, err := parseLogin(m.data)
	if err != nil {
		c.server.t.Errorf("tds: login: %v", err)
		return false
	}
	if refusal := c.server.login(c); refusal != nil {
		c.reply(Query{Kind: Batch}, *refusal)
		return false
	}
	a := answer{conn: c}
	a.login(l)
	if c.write(a.data, true) != nil {
		return false
	}
	c.packetSize = l.packetSize
	return true
}

// reply sends what r says and tells whether the connection goes on.
func (c *conn) reply(q Query, r Reply) bool {
	a := answer{conn: c, request: q.Kind}
	if len(r.steps) == 0 {
		r = ordinary(q.Kind)
	}
	if q.Reset {
		a.envChange(envReset, nil, nil)
	}
	for _, step := range r.steps {
		if step(&a); a.end != goesOn {
			break
		}
	}
	if a.err != nil {
		c.server.t.Errorf("tds: the answer to %v %q: %v", q.Kind, q.Text, a.err)
		return false
	}
	switch a.end {
	case goesOn:
		a.finish()
		return c.write(a.data, true) == nil
	case complete:
		_ = c.write(a.data, true)
		return false
	}
	a.more()
	if c.write(a.data, false) != nil || a.end == cut {
		return false
	}
	return c.awaitAttention(a.end)
}

// awaitAttention reads until the client cancels its request.
func (c *conn) awaitAttention(e ending) bool {
	m, err := c.read()
	if err != nil || m.kind != typeAttention {
		return false
	}
	c.server.attention()
	if e == hangThenCut {
		return false
	}
	a := answer{conn: c}
	a.done(tokenDone, doneAttention, 0, 0)
	return c.write(a.data, true) == nil
}

// read reads the packets of one message.
func (c *conn) read() (message, error) {
	var m message
	for first := true; ; first = false {
		var header [headerSize]byte
		if _, err := io.ReadFull(c.socket, header[:]); err != nil {
			return m, err
		}
		size := int(binary.BigEndian.Uint16(header[2:]))
		if size < headerSize || len(m.data)+size > maxMessageSize {
			return m, errors.New("a packet of impossible size")
		}
		if first {
			m.kind, m.status = header[0], header[1]
		}
		at := len(m.data)
		m.data = append(m.data, make([]byte, size-headerSize)...)
		if _, err := io.ReadFull(c.socket, m.data[at:]); err != nil {
			return m, err
		}
		if header[1]&statusEnd != 0 {
			return m, nil
		}
	}
}

// write sends data in packets; the last ends the message if whole is true.
// Nothing is sent for the empty beginning of a message.
func (c *conn) write(data []byte, whole bool) error {
	for number := byte(1); len(data) > 0; number++ {
		n := min(len(data), c.packetSize-headerSize)
		packet := make([]byte, headerSize, headerSize+n)
		packet[0] = typeReply
		if n == len(data) && whole {
			packet[1] = statusEnd
		}
		binary.BigEndian.PutUint16(packet[2:], uint16(headerSize+n))
		binary.BigEndian.PutUint16(packet[4:], uint16(c.id))
		packet[6] = number
		if _, err := c.socket.Write(append(packet, data[:n]...)); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func (c *conn) inTransaction() bool {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	return c.transaction != 0
}
