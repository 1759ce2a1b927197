package httpapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"slotkeeper/app"

	"github.com/stretchr/testify/require"
)

// dial opens a connection that lasts beyond one request.
func (b *bench) dial() (net.Conn, *bufio.Reader) {
	b.t.Helper()
	conn, err := net.Dial("tcp", b.addr)
	require.NoError(b.t, err)
	b.t.Cleanup(func() { conn.Close() })
	require.NoError(b.t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	return conn, bufio.NewReader(conn)
}

// accepts says whether new connections are taken.
func (b *bench) accepts() bool {
	conn, err := net.Dial("tcp", b.addr)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// gate makes the store wait: entered gets one for each request that arrived,
// and each leaves when release is closed.
func gate(b *bench) (entered chan struct{}, release chan struct{}) {
	entered, release = make(chan struct{}, 10), make(chan struct{})
	b.store.block = func(context.Context) {
		entered <- struct{}{}
		<-release
	}
	return entered, release
}

// Seen red with: readyz not looking at draining; CloseOnShutdown left out; the
// delay left out (the request during it was refused).
func TestShutdownAnswersWhatItTook(t *testing.T) {
	b := start(t, func(o *Options) { o.DrainDelay = 300 * time.Millisecond })
	idle, fromIdle := b.dial()
	_, err := io.WriteString(idle, b.request("GET", "/livez", ""))
	require.NoError(t, err)
	require.False(t, b.read("GET", fromIdle).Close)
	entered, release := gate(b)
	busy, fromBusy := b.dial()
	_, err = io.WriteString(busy, b.request("GET", "/slots/1", ""))
	require.NoError(t, err)
	<-entered

	begun, done := time.Now(), make(chan error, 1)
	go func() { done <- b.srv.Shutdown(context.Background()) }()
	require.Eventually(t, b.srv.draining.Load, time.Second, time.Millisecond)
	ready := b.do("GET", "/readyz", "")
	b.problem(ready, 503, "shutting-down")
	require.NotEmpty(t, ready.Header.Get("Retry-After"))
	alive := b.do("GET", "/livez", "") // during the delay all is served, once a connection
	require.Equal(t, 200, alive.StatusCode)
	require.True(t, alive.Close)

	require.Eventually(t, func() bool { return !b.accepts() }, 2*time.Second, 5*time.Millisecond)
	require.GreaterOrEqual(t, time.Since(begun), 300*time.Millisecond)
	select {
	case err := <-done:
		t.Fatal("a request was left behind", err)
	default:
	}
	close(release)
	last := b.read("GET", fromBusy)
	b.problem(last, 404, "slot-not-found")
	require.True(t, last.Close, "it is told that no more is answered")
	require.NoError(t, <-done)
	for _, from := range []*bufio.Reader{fromIdle, fromBusy} {
		_, err := from.ReadByte()
		require.ErrorIs(t, err, io.EOF)
	}
}

// Seen red with: closeAll left out (the connection stayed open); fasthttp told
// that the connection was closed (it panicked).
func TestShutdownIsBounded(t *testing.T) {
	b := start(t)
	entered, release := gate(b)
	busy, from := b.dial()
	_, err := io.WriteString(busy, b.request("GET", "/slots/1", ""))
	require.NoError(t, err)
	<-entered
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, b.srv.Shutdown(ctx), context.DeadlineExceeded)
	_, err = from.ReadByte()
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	close(release)
	require.Eventually(t, func() bool { return b.log.String() != "" }, time.Second, time.Millisecond)
}

func TestShutdownBeforeServe(t *testing.T) {
	srv, err := New(app.NewService(&fake{}, app.Config{}), Options{})
	require.NoError(t, err)
	require.NoError(t, srv.Shutdown(context.Background()))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, srv.Serve(ln))
	_, err = net.Dial("tcp", ln.Addr().String())
	require.Error(t, err)
}

func TestOneListener(t *testing.T) {
	b := start(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	require.Eventually(t, func() bool { b.srv.mu.Lock(); defer b.srv.mu.Unlock(); return b.srv.ln != nil }, time.Second, time.Millisecond)
	require.Error(t, b.srv.Serve(ln))
}

// Seen red with: peerClosed answering false; Control's error not looked at.
func TestContextEndsWithTheClient(t *testing.T) {
	onlyLinux(t)
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ln := newListener(raw)
	defer ln.Close()
	client, err := net.Dial("tcp", raw.Addr().String())
	require.NoError(t, err)
	conn, err := ln.Accept()
	require.NoError(t, err)
	ctx := clientContext{context.Background(), conn}
	require.NoError(t, ctx.Err(), "it waits")
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(-time.Second)))
	require.NoError(t, ctx.Err(), "a deadline for the next request is no end of this one")
	require.NoError(t, client.Close())
	require.Eventually(t, func() bool { return errors.Is(ctx.Err(), context.Canceled) }, time.Second, time.Millisecond)

	client, err = net.Dial("tcp", raw.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	conn, err = ln.Accept()
	require.NoError(t, err)
	ctx = clientContext{context.Background(), conn}
	_, err = io.WriteString(client, "GET / HTTP/1.1")
	require.NoError(t, err)
	var b [3]byte
	_, err = conn.Read(b[:])
	require.NoError(t, err)
	require.NoError(t, ctx.Err(), "its next request is there")
	_, err = io.ReadFull(conn, b[:])
	require.NoError(t, err)
	require.Equal(t, " / ", string(b[:]), "looking took nothing away")
	require.NoError(t, conn.Close())
	require.ErrorIs(t, ctx.Err(), context.Canceled, "closed on our side")
}

// What comes of a request whose client left is no failure of the service.
// Seen red with: fail not looking at the connection (a 503 at level warn).
func TestClientThatLeftIsNoFailure(t *testing.T) {
	onlyLinux(t)
	b := start(t)
	entered, release := gate(b)
	b.store.fail = app.ErrBusy
	conn, _ := b.dial()
	_, err := io.WriteString(conn, b.request("GET", "/slots/1", ""))
	require.NoError(t, err)
	<-entered
	require.NoError(t, conn.Close())
	close(release)
	require.Eventually(t, func() bool { return b.log.String() != "" }, 2*time.Second, time.Millisecond)
	require.Contains(t, b.log.String(), `"level":"INFO"`)
	require.Contains(t, b.log.String(), `"status":499`)
}

func onlyLinux(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux can one look at a connection without reading from it")
	}
}
