package program

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const future = `{"starts_at":"2046-03-05T09:00:00Z","ends_at":"2046-03-05T09:30:00Z","capacity":%d}`

func TestServe(t *testing.T) {
	s := serve(t, newDB(t))
	created := s.post("/slots", fmt.Sprintf(future, 1))
	require.Equal(t, 201, created.status, created.body)
	path := created.header.Get("Location")
	assert.Equal(t, 201, s.post(path+"/reservations", `{"user_id":"mika"}`).status)
	full := s.post(path+"/reservations", `{"user_id":"noor"}`)
	assert.Equal(t, 409, full.status)
	assert.Equal(t, "slot-full", full.code())
	assert.Equal(t, 200, s.get("/readyz").status)
	assert.Equal(t, 200, s.get("/livez").status)
	assert.Contains(t, s.get("/metrics").body, "slotkeeper_")
	assert.Contains(t, s.logged(), `"database":"sqlite:`)
	s.signal(syscall.SIGTERM)
	assert.Equal(t, 0, s.exitCode())
}

// What was reserved is there for the next process.
func TestServeAgain(t *testing.T) {
	db := newDB(t)
	s := serve(t, db)
	path := s.post("/slots", fmt.Sprintf(future, 1)).header.Get("Location")
	require.Equal(t, 201, s.post(path+"/reservations", `{"user_id":"mika"}`).status)
	s.signal(syscall.SIGINT)
	require.Equal(t, 0, s.exitCode())
	s = serve(t, db, "--no-migrate", "--no-combine")
	assert.Equal(t, "already-reserved", s.post(path+"/reservations", `{"user_id":"mika"}`).code())
}

// halfRequest sends a request but for its body, on a connection where the
// server has said that it goes on reading: the request is accepted for sure.
type halfRequest struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
	rest string
}

func sendHalf(t *testing.T, s *server) *halfRequest {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	h := &halfRequest{t: t, conn: conn, in: bufio.NewReader(conn)}
	h.rest = fmt.Sprintf(future, 1)
	_, err = fmt.Fprintf(conn, "POST /slots HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
		"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(h.rest))
	require.NoError(t, err)
	line, err := h.in.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 100 Continue\r\n", line)
	_, err = h.in.ReadString('\n')
	require.NoError(t, err)
	return h
}

func (h *halfRequest) finish() answer {
	h.t.Helper()
	_, err := io.WriteString(h.conn, h.rest)
	require.NoError(h.t, err)
	return h.answer()
}

func (h *halfRequest) answer() answer {
	h.t.Helper()
	resp, err := http.ReadResponse(h.in, nil)
	require.NoError(h.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(h.t, err)
	return answer{resp.StatusCode, resp.Header, string(text)}
}

// On a signal /readyz says 503 while requests are still taken, then no more
// connections are, and what was accepted is answered. Seen red with the program
// exiting at the signal (the half request got no answer), and with the drain
// delay not handed on.
func TestShutdown(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			s := serve(t, newDB(t), "--drain-delay", "2s")
			half := sendHalf(t, s)
			s.signal(sig)
			require.Eventually(t, func() bool { return s.get("/readyz").status == 503 }, patience, time.Millisecond)
			assert.Equal(t, 200, s.get("/livez").status, "requests are still taken")
			require.Eventually(t, func() bool { _, err := s.try("GET", "/livez", ""); return err != nil }, patience, 20*time.Millisecond)
			assert.Equal(t, 201, half.finish().status)
			assert.Equal(t, 0, s.exitCode())
			assert.Contains(t, s.logged(), `"msg":"ended"`)
		})
	}
}

// A request that never ends doesn't keep the program: the bound does. Seen red
// with exit code 0 whatever Shutdown returned.
func TestShutdownBound(t *testing.T) {
	s := serve(t, newDB(t), "--drain-delay", "0s", "--shutdown-timeout", "500ms", "--read-timeout", "1m")
	sendHalf(t, s)
	started := time.Now()
	s.signal(syscall.SIGTERM)
	assert.Equal(t, 1, s.exitCode())
	assert.Less(t, time.Since(started), 10*time.Second)
	assert.Contains(t, s.logged(), "requests were cut off after 500ms")
}

// Seen red with the first signal still being listened for.
func TestSecondSignal(t *testing.T) {
	s := serve(t, newDB(t), "--drain-delay", "30s", "--shutdown-timeout", "1m", "--read-timeout", "1m")
	sendHalf(t, s)
	s.signal(syscall.SIGTERM)
	require.Eventually(t, func() bool { return s.get("/readyz").status == 503 }, patience, time.Millisecond)
	s.signal(syscall.SIGTERM)
	assert.Equal(t, -1, s.exitCode(), "ended by the signal")
}

// An expired hold is swept by itself.
func TestSweep(t *testing.T) {
	s := serve(t, newDB(t), "--sweep-interval", "100ms")
	path := s.post("/slots", fmt.Sprintf(future, 1)).header.Get("Location")
	require.Equal(t, 201, s.post(path+"/reservations", `{"user_id":"mika","hold_seconds":1}`).status)
	require.Eventually(t, func() bool { return strings.Contains(s.logged(), `"msg":"swept expired holds","freed":1`) },
		patience, 20*time.Millisecond)
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	r := run(t, "serve", "--db", newDB(t), "--listen", l.Addr().String())
	assert.Equal(t, 2, r.code)
	assert.Equal(t, "slotkeeper: "+l.Addr().String()+" is in use: end the program that has it, or choose another with --listen\n", r.stderr)
}

// Two processes on one file: exactly the capacity is given away, and who comes
// at the same moment waits instead of failing. Seen red with SQLite's busy
// timeout at 0 and no retry (503 busy).
func TestTwoProcesses(t *testing.T) {
	db := newDB(t)
	servers := []*server{serve(t, db), serve(t, db, "--no-combine")}
	const rounds, places, people = 4, 10, 50
	for range rounds {
		path := servers[0].post("/slots", fmt.Sprintf(future, places)).header.Get("Location")
		answers := make([]answer, people)
		errs := make([]error, people)
		var all sync.WaitGroup
		start := make(chan struct{})
		for i := range people {
			all.Go(func() {
				<-start
				answers[i], errs[i] = servers[i%2].try("POST", path+"/reservations", fmt.Sprintf(`{"user_id":"p%d"}`, i))
			})
		}
		close(start)
		all.Wait()
		count := map[string]int{}
		for i, a := range answers {
			require.NoError(t, errs[i])
			count[fmt.Sprint(a.status, a.code())]++
		}
		assert.Equal(t, map[string]int{"201": places, "409slot-full": people - places}, count)
		assert.Contains(t, servers[1].get(path).body, `"reserved":10,"available":0`)
	}
	assert.Equal(t, 0, run(t, "check", "--db", db).code)
}

// Two processes that start at once on a file that is not there yet.
func TestTwoStarts(t *testing.T) {
	db := newDB(t)
	var all sync.WaitGroup
	results := make([]result, 4)
	for i := range results {
		all.Go(func() { results[i] = run(t, "migrate", "up", "--db", db) })
	}
	all.Wait()
	for _, r := range results {
		assert.Equal(t, 0, r.code, r.stderr)
	}
}
