// Package overload offers the program many times what it can do, and looks at
// what it still does: those it takes are answered in time and are there, those
// it refuses learn it soon, and it is well afterwards.
package overload

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slotkeeper/tests/engines"
	"slotkeeper/tests/served"
)

func TestMain(m *testing.M) { os.Exit(engines.Main(m)) }

const (
	slots       = 200      // so that no lock of a row is what bounds it
	queue       = 4096     // app.Config's, which may wait to be written
	inBatches   = 2 * 4096 // at most, being written and answered
	connections = 6800     // more than the queue holds
	times       = 10       // what is offered, by what was done at the best

	// sockets is what a request may lie in them, unread, and its answer: that
	// no call's time counts, and on two cores 6 800 of them are a second's work.
	sockets = 3 * time.Second
)

// server is the program, its database, and what it may take.
type server struct {
	*served.Server
	t       *testing.T
	db      string
	timeout time.Duration // of a call
	program string
	crowd   string // the program that asks
	next    int64  // number of the next user
}

// TestOverload asserts ratios of speed in its long form alone: a busy machine
// makes chance of them. Ten times what the program does is more than it, and a
// crowd on the same processors, can exchange at all; so the crowd offers what it
// can, and the figures say how much that was.
// Seen red with: the program built with the race detector (memory, and how soon
// one is refused); in the long form app.maxBatch of 512, on two cores that it
// shared with the crowd (a third of the peak was left).
func TestOverload(t *testing.T) {
	crowd := served.Plain(t, "slotkeeper/tests/faults/overload/crowd")
	program := served.Plain(t, "slotkeeper") // what the race detector takes is not to be measured
	for _, c := range []struct {
		name    string
		engine  func(testing.TB) string
		timeout time.Duration
		long    bool // in the long form alone
	}{
		{"postgres", engines.Postgres, 5 * time.Second, false},
		{"sqlite", engines.SQLite, 5 * time.Second, false},
		{"postgres, short patience", engines.Postgres, 500 * time.Millisecond, true},
		{"sqlite, short patience", engines.SQLite, 500 * time.Millisecond, true},
	} {
		if c.long && !served.Long() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			db := c.engine(t)
			s, err := served.Start(t, program, db, "127.0.0.1:0", "--call-timeout", c.timeout.String())
			require.NoError(t, err)
			o := &server{Server: s, t: t, db: db, timeout: c.timeout, program: program, crowd: crowd}
			o.publish()
			o.overload(o.peak())
		})
	}
}

// publish makes the slots; a new database gives them the ids from 1 on.
func (s *server) publish() {
	for n := range slots {
		status, body := s.call(http.MethodPost, "/slots", `{"starts_at":"2096-05-02T09:00:00Z","ends_at":"2096-05-02T09:30:00Z","capacity":1000000}`)
		require.Equal(s.t, http.StatusCreated, status, body)
		require.Contains(s.t, body, fmt.Sprintf(`{"id":%d,`, n+1))
	}
}

// peak is the most that it keeps up a second for clients that wait for their
// answer before they ask again. A few seconds do not tell: until the first
// checkpoint and vacuum a small table takes more than it does in any minute.
func (s *server) peak() (best float64) {
	for _, clients := range served.Pick([]int{256}, []int{64, 256, 1024}) {
		span := served.Pick(time.Second, 20*time.Second)
		seen := s.ask(clients, 0, span)
		rate := float64(seen.InTime) / span.Seconds()
		best = max(best, rate)
		served.Figures(s.t, "%d clients that wait for their answers: %.0f reservations a second, answered in %v, at most %v", clients, rate, seen.Waits["201"].Median, seen.Waits["201"].Longest)
		require.Len(s.t, seen.Answers, 1, "%v", seen.Answers)
	}
	require.NotZero(s.t, best)
	return best
}

func (s *server) overload(peak float64) {
	span := served.Pick(2*time.Second, time.Minute)
	watch := s.watch()
	seen := s.ask(connections, times*peak, span)
	most, memory := watch()
	busy := seen.Answers["503 busy"]
	good := float64(seen.InTime) / span.Seconds()
	offered := float64(seen.Due-seen.Unsent) / span.Seconds()
	served.Figures(s.t, "peak %.0f a second; %.0f were due for %v, %.0f were offered over %d connections: %.0f reserved (%.0f %% of the peak) in %v, 99 %% in %v, at most %v; %d busy in %v, 99 %% in %v; at most %d waited, %d MiB of memory",
		peak, times*peak, span, offered, connections, good, 100*good/peak, seen.Waits["201"].Median, seen.Waits["201"].P99, seen.Waits["201"].Longest,
		busy, seen.Waits["503"].Median, seen.Waits["503"].P99, most, memory>>20)

	allowed, answered := []string{"201", "503 busy"}, 0
	if s.timeout < time.Second { // of a commit that took longer nobody can say what became of it
		allowed = append(allowed, "503 database-unavailable")
	}
	for what, n := range seen.Answers {
		assert.Contains(s.t, allowed, what, "%d times", n)
		answered += n
	}
	assert.NotEmpty(s.t, seen.Accepted, "nobody was served")
	assert.Equal(s.t, seen.Due-seen.Unsent, answered, "each request is answered")
	assert.LessOrEqual(s.t, most, queue+inBatches, "the queue is bounded")
	assert.Less(s.t, memory, int64(1)<<30)
	// Whoever is refused for want of time is so after s.timeout; a machine with
	// other work may be late.
	assert.Less(s.t, seen.Waits["503"].Median, s.timeout+time.Second)
	assert.Less(s.t, seen.Waits["201"].Longest, 2*s.timeout+5*time.Second)
	if served.Long() {
		assert.NotZero(s.t, busy, "this was no overload")
		assert.Less(s.t, seen.Waits["201"].P99, s.timeout+sockets)
		if s.timeout > time.Second { // with little patience much is given up while it waits in the sockets
			assert.GreaterOrEqual(s.t, good, .8*peak)
			assert.Less(s.t, seen.Waits["503"].Median, s.timeout/5)
		}
	}
	s.isWell(seen)
}

// isWell asks whether all is as it should be once the crowd has gone: what was
// promised is there, what was refused is not, and nobody waits.
func (s *server) isWell(seen seen) {
	there := s.rows()
	for _, number := range seen.Accepted {
		if !assert.True(s.t, there[number], "user %d was told 201 and has no row", number) {
			break
		}
	}
	for _, number := range seen.Refused {
		if !assert.False(s.t, there[number], "user %d was told busy and has a row", number) {
			break
		}
	}
	assert.Zero(s.t, s.gauge("slotkeeper_queue_length"))
	status, _ := s.call(http.MethodGet, "/readyz", "")
	assert.Equal(s.t, http.StatusOK, status)
	begun := time.Now()
	status, body := s.call(http.MethodPost, "/slots/1/reservations", `{"user_id":"late"}`)
	assert.Equal(s.t, http.StatusCreated, status, body)
	text, err := exec.Command(s.program, "check", "--db", s.db).CombinedOutput()
	assert.NoError(s.t, err, "%s", text)
	assert.Zero(s.t, s.Stop())
	served.Figures(s.t, "afterwards a reservation took %v", time.Since(begun).Round(time.Millisecond))
}

// seen is the part of the crowd's report that is used here.
type seen struct {
	Due, Unsent       int
	InTime            int // of the accepted, those answered while requests were sent
	Answers           map[string]int
	Accepted, Refused []int64
	Waits             map[string]struct{ Median, P99, Longest time.Duration }
}

// ask runs the crowd.
func (s *server) ask(clients int, rate float64, span time.Duration) (seen seen) {
	s.t.Helper()
	cmd := exec.Command(s.crowd, "-address", s.Address, "-connections", strconv.Itoa(clients), "-rate", fmt.Sprint(rate),
		"-span", span.String(), "-slots", strconv.Itoa(slots), "-first", strconv.FormatInt(s.next, 10))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(s.t, err, stderr.String())
	require.NoError(s.t, json.Unmarshal(out, &seen))
	s.next += 100_000_000
	return seen
}

func (s *server) call(method, path, body string) (int, string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, s.URL()+path, strings.NewReader(body))
	require.NoError(s.t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return response.StatusCode, string(text)
}
