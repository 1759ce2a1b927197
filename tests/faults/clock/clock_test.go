// Package clock has two processes with clocks ten minutes apart work on one
// Postgres and agree on which holds have expired, since both go by the
// database's clock.
//
// On SQLite there is no such thing to test: the database is a part of each
// process and has the machine's clock, which is one for all that share a file.
package clock

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slotkeeper/tests/engines"
	"slotkeeper/tests/served"
)

// The program as it is built for others is not used here: see shifting.
func TestMain(m *testing.M) { os.Exit(engines.Main(m)) }

// apart is how far the second process's clock is ahead or behind.
const apart = 10 * time.Minute

// shifting builds the program with another clock: time.Now, which is where a Go
// program has the time of day from, adds what the variable CLOCK_AHEAD says.
// Nothing less will do: Go asks the kernel without the C library, so that
// nothing can be preloaded, and a time namespace has no time of day of its own.
// The first build takes a minute or two, since it builds all that knows the time
// anew; it does so without the race detector, which would double that.
func shifting(t *testing.T, change func(text string) string, files ...string) string {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	return served.Altered(t, false, func(text string) string {
		if !strings.Contains(text, "\npackage time\n") {
			return change(text)
		}
		return strings.NewReplacer(
			"import (\n", "import (\n\"syscall\"\n",
			"func Now() Time {\n", `
				var ahead = func() int64 {
					said, _ := syscall.Getenv("CLOCK_AHEAD")
					d, _ := ParseDuration(said)
					return int64(d / Second)
				}()
				func Now() Time {
			`,
			"mono := runtimeNow()\n", `mono := runtimeNow()
				sec += ahead // the time of day alone: what measures spans goes on
			`).Replace(text)
	}, append(files, filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go"))...)
}

// world is two processes on one database, whose clock the first one has.
type world struct {
	t      *testing.T
	binary string
	dsn    string
	db     *pgx.Conn
	both   [2]*served.Server
	asked  int      // questions that both were asked
	split  []string // those that they answered differently, or wrongly
}

func newWorld(t *testing.T, binary string, ahead time.Duration, args ...string) *world {
	dsn := engines.Postgres(t)
	w := &world{t: t, binary: binary, dsn: dsn}
	for i, shift := range []time.Duration{0, ahead} {
		t.Setenv("CLOCK_AHEAD", shift.String())
		s, err := served.Start(t, binary, dsn, "127.0.0.1:0", append(args, "--sweep-interval", "0")...)
		require.NoError(t, err)
		require.InDelta(t, shift.Seconds(), clock(t, s).Seconds(), 60, "the process has the clock that it should have")
		w.both[i] = s
	}
	var err error
	w.db, err = pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { w.db.Close(context.Background()) })
	return w
}

// clock is how far a process's clock is ahead of ours, by its log.
func clock(t *testing.T, s *served.Server) time.Duration {
	var first struct{ Time time.Time }
	line, _, _ := strings.Cut(s.Log(), "\n")
	require.NoError(t, json.Unmarshal([]byte(line), &first), line)
	return time.Until(first.Time)
}

// run is a statement of ours, by the database's clock.
func (w *world) run(sql string, args ...any) {
	w.t.Helper()
	_, err := w.db.Exec(context.Background(), sql, args...)
	require.NoError(w.t, err)
}

// reply has what matters of an answer.
type reply struct {
	Status   int    `json:"-"`
	ID       int64  `json:"id"`
	Code     string `json:"code"`
	Reserved int    `json:"reserved"`

	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
	Items     []struct {
		ID int64 `json:"id"`
	} `json:"items"`
}

func (w *world) ask(at int, method, path, body string) (r reply) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, w.both[at].URL()+path, strings.NewReader(body))
	require.NoError(w.t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(w.t, err)
	defer response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		require.NoError(w.t, json.NewDecoder(response.Body).Decode(&r))
	}
	r.Status = response.StatusCode
	return r
}

// agree asks both processes and notes where one says other than what is right.
func (w *world) agree(what string, right any, ask func(at int) any) {
	for at := range w.both {
		w.is(what, right, at, ask)
	}
}

// is asks one of them.
func (w *world) is(what string, right any, at int, ask func(at int) any) {
	w.asked++
	if got := ask(at); !assert.ObjectsAreEqual(right, got) {
		w.split = append(w.split, fmt.Sprintf("%s: process %d says %v, right is %v", what, at, got, right))
	}
}
