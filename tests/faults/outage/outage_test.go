// Package outage takes away what the running program stands on, or the program
// itself, while 64 clients reserve and cancel over HTTP: the process is killed,
// the database ends, its answers stay away, it has no connection left, its disk
// is full. What a client was told must be true afterwards.
package outage

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slotkeeper/tests/served"
)

// binary is the built program; TestMain sets it once for all tests.
var binary string

func TestMain(m *testing.M) { served.Main(m, func(built string) { binary = built }) }

const (
	clients      = 64
	hotCapacity  = 30  // of the first slot, which every second request wants
	restCapacity = 200 // of each other slot
	slotCount    = 6
	thinking     = 100 * time.Millisecond // between two requests of a client, where latency is looked at
)

// slack is what an answer may take beyond the call timeout, and back how long
// after its database the service is back. The short form runs beside other
// tests on a machine that may be busy; a hang is still far longer.
func slack() time.Duration { return served.Pick(3*time.Second, 1500*time.Millisecond) }
func back() time.Duration  { return served.Pick(8*time.Second, 2*time.Second) }

// callTimeout is what the program is given as --call-timeout.
func callTimeout() time.Duration { return served.Pick(time.Second, 3*time.Second) }

// until polls for what has no event to wait for.
func until(t testing.TB, within time.Duration, what string, reached func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !reached(); time.Sleep(5 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "not within %v: %s", within, what)
	}
}

// site is the program over one database with the load on it.
type site struct {
	t      *testing.T
	db     string // DSN of the program
	direct string // DSN of the tests, around whatever lies between
	args   []string
	server *served.Server
	load   *load
	slots  []int64
	probe  http.Client
}

func combineFlag(on bool) string {
	if on {
		return "--combine"
	}
	return "--no-combine"
}

// newSite starts the program and makes the slots; the load is not started.
func newSite(t *testing.T, db, direct string, combine bool) *site {
	t.Helper()
	s := &site{t: t, db: db, direct: direct, probe: http.Client{Timeout: 10 * time.Second},
		args: []string{combineFlag(combine), "--call-timeout", callTimeout().String(), "--sweep-interval", "1s"}}
	s.start("127.0.0.1:0")
	for i := range slotCount {
		capacity := restCapacity
		if i == 0 {
			capacity = hotCapacity
		}
		s.slots = append(s.slots, s.slot(capacity))
	}
	s.load = newLoad(s.server.URL(), s.slots, callTimeout()+slack())
	t.Cleanup(s.load.end)
	t.Cleanup(s.tell)
	return s
}

func (s *site) start(listen string) {
	s.t.Helper()
	server, err := served.Start(s.t, binary, s.db, listen, s.args...)
	require.NoError(s.t, err)
	s.server = server
}

// slot makes a slot of its own over HTTP.
func (s *site) slot(capacity int) int64 {
	s.t.Helper()
	body := fmt.Sprintf(`{"starts_at":"2096-05-02T09:00:00Z","ends_at":"2096-05-02T09:30:00Z","capacity":%d}`, capacity)
	resp, err := s.probe.Post(s.server.URL()+"/slots", "application/json", strings.NewReader(body))
	require.NoError(s.t, err)
	defer resp.Body.Close()
	var slot struct{ ID int64 }
	require.NoError(s.t, json.NewDecoder(resp.Body).Decode(&slot))
	require.Equal(s.t, 201, resp.StatusCode)
	return slot.ID
}

// get returns a status, and how long it took.
func (s *site) get(path string) (int, time.Duration) {
	s.t.Helper()
	since := time.Now()
	resp, err := s.probe.Get(s.server.URL() + path)
	require.NoError(s.t, err, path)
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(s.t, err, path)
	return resp.StatusCode, time.Since(since)
}

func (s *site) ready() bool {
	status, took := s.get("/readyz")
	assert.Contains(s.t, []int{200, 503}, status)
	assert.Less(s.t, took, time.Second+slack(), "/readyz has a second")
	return status == 200
}

// alive looks at /livez for as long as given: it is 200 throughout.
func (s *site) alive(d time.Duration) {
	s.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		status, took := s.get("/livez")
		require.Equal(s.t, 200, status, "/livez")
		require.Less(s.t, took, slack(), "/livez touches no database")
	}
}

// watch is alive, and looks at /readyz too, which says ready or not throughout.
func (s *site) watch(d time.Duration, ready bool) {
	s.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		s.alive(time.Nanosecond)
		require.Equal(s.t, ready, s.ready(), "/readyz")
	}
}

// returned waits until the program is ready and reserves again, without having
// been started again, and says how long that took.
func (s *site) returned(since time.Time) time.Duration {
	s.t.Helper()
	try := 0
	until(s.t, back()-time.Since(since), "ready after the return", s.ready)
	until(s.t, back()-time.Since(since), "a reservation after the return", func() bool {
		try++
		_, status, _, _ := s.load.ask("POST", s.slots[1], fmt.Sprintf("back-%d-%d", since.UnixNano(), try))
		return status == 201
	})
	return time.Since(since)
}

// settle ends the load and holds what the clients were told against the rows.
func (s *site) settle(what string, args ...any) {
	s.t.Helper()
	s.load.end()
	assert.Empty(s.t, s.load.mistakes(), "answers that must not be")
	have := rows(s.t, s.direct)
	told := s.load.compare(s.t, have)
	for i, id := range s.slots {
		capacity := restCapacity
		if i == 0 {
			capacity = hotCapacity
		}
		require.LessOrEqual(s.t, len(have[id]), capacity, "slot %d", id)
		want := map[bool]string{true: "201", false: "409 slot-full"}[len(have[id]) < capacity]
		answer, _, _, _ := s.load.ask("POST", id, "afterwards")
		require.Equal(s.t, want, answer, "slot %d with %d of %d places taken", id, len(have[id]), capacity)
	}
	out, err := exec.Command(binary, "check", "--db", s.direct).CombinedOutput()
	require.NoError(s.t, err, "check: %s", out)
	assert.NotContains(s.t, s.server.Log(), "DATA RACE")
	assert.NotContains(s.t, s.server.Log(), "panic")
	served.Figures(s.t, "%s; %s; %s; slowest answer %v", fmt.Sprintf(what, args...), s.load.counts(), told, s.load.slowest.Round(time.Millisecond))
}

// short is a context for the tests' own questions to a database.
func short(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// failures prints the lines of the log that tell why an answer was 500.
func (s *site) failures() {
	for line := range strings.Lines(s.server.Log()) {
		if strings.Contains(line, `"status":500`) {
			s.t.Error(line)
		}
	}
}

// tell prints what came of a test that fails before it settles.
func (s *site) tell() {
	if s.t.Failed() {
		s.load.end()
		s.failures()
		s.t.Logf("%s; slowest %v; mistakes %q; the log ends: %s", s.load.counts(), s.load.slowest, s.load.mistakes(), tail(s.server.Log(), 3000))
	}
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }
