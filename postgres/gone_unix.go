//go:build unix

package postgres

import (
	"crypto/tls"
	"net"
	"syscall"
)

// gone says whether the server has closed a connection that waits for nothing.
// It looks at what has come without taking it: a write to such a connection
// appears to succeed, and whether what it said was done is then not known.
func gone(c net.Conn) bool {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	sc, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return true
	}
	var n int
	var peeked error
	// Control, not Read, which would wait for whoever reads: after a write that
	// took long, pgconn's background reader may, until the next answer comes.
	err = raw.Control(func(fd uintptr) {
		n, _, peeked = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
	})
	switch {
	case err != nil:
		return true
	case peeked == nil:
		return n == 0 // its end; a notice may wait there, too
	}
	return peeked != syscall.EAGAIN && peeked != syscall.EINTR
}
