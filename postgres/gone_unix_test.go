//go:build unix

package postgres

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGone looks at a connection on which a reader already waits, as pgconn's
// background reader may: the question must not wait for it, and must be
// answered truly all the same.
// Seen red with: raw.Read in gone instead of raw.Control (it waited for ever);
// n == 0 left out of its answer.
func TestGone(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	near, err := net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	defer near.Close()
	far, err := ln.Accept()
	require.NoError(t, err)
	defer far.Close()
	raw, err := near.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	reads, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		first := true
		_ = raw.Read(func(uintptr) bool { // has the reader's lock until there is something to read
			if first {
				first = false
				close(reads)
				return false
			}
			return true
		})
	}()
	<-reads

	ask := func() bool {
		answer := make(chan bool, 1)
		go func() { answer <- gone(near) }()
		select {
		case is := <-answer:
			return is
		case <-time.After(10 * time.Second):
			require.Fail(t, "gone waits for the reader")
			return false
		}
	}
	assert.False(t, ask(), "while the server is there")
	require.NoError(t, far.Close())
	<-ended
	assert.True(t, ask(), "after the server has closed it")
}
