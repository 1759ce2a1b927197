package engines

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"slotkeeper/tests/engines/usage"
)

// databaseTimeout bounds the making and the dropping of one database. Both are
// done in well under a second; many at once on a small machine queue up.
const databaseTimeout = time.Minute

// session is the life of one test binary: the servers it found, until they end.
type session struct {
	env   environment
	out   io.Writer // for the table
	kinds map[string]kind

	// ctx ends when the binary is interrupted, so that a server that is just
	// being waited for does not hold up the end.
	ctx    context.Context
	cancel context.CancelFunc
	ending sync.Once

	mu    sync.Mutex // held while a server is looked for: one search for each engine
	begun bool
	ended bool
	tried map[string]*attempt
}

// attempt is the outcome of the one search for an engine.
type attempt struct {
	server    *server // nil when err is set
	err       error
	databases int
}

func newSession(env environment) *session {
	ctx, cancel := context.WithCancel(context.Background())
	return &session{
		env: env,
		out: os.Stdout,
		kinds: map[string]kind{
			postgresName:  postgresKind(env),
			sqlserverName: sqlserverKind(env),
		},
		ctx: ctx, cancel: cancel,
		tried: map[string]*attempt{},
	}
}

// run calls runTests between a beginning and an end and returns its exit code.
func (s *session) run(runTests func() int) int {
	if err := s.begin(); err != nil {
		fmt.Fprintln(os.Stderr, "engines:", err)
		return 2
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		got := <-signals
		s.end()
		code := 1
		if number, ok := got.(syscall.Signal); ok {
			code = 128 + int(number)
		}
		os.Exit(code)
	}()
	code := runTests()
	s.end()
	return code
}

func (s *session) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
	_, err := s.env.required()
	return err
}

// end stops the servers that are ours and tells what was used. A second call,
// from a signal say, waits for the first.
func (s *session) end() {
	s.ending.Do(func() {
		s.cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended = true
		for _, a := range s.tried {
			if a.server != nil && a.server.stop != nil {
				a.server.stop()
			}
		}
		s.tell()
	})
}

// tell prints the table of this binary and leaves its record for the whole run's.
func (s *session) tell() {
	records := s.records()
	if len(records) == 0 {
		return
	}
	if err := usage.Print(s.out, records); err != nil {
		fmt.Fprintln(os.Stderr, "engines:", err)
	}
	if dir := s.env.getenv(reportVariable); dir != "" {
		if err := usage.Write(dir, records); err != nil {
			fmt.Fprintln(os.Stderr, "engines: report:", err)
		}
	}
}

func (s *session) records() []usage.Record {
	var records []usage.Record
	for _, engine := range usage.Engines() {
		a := s.tried[engine]
		if a == nil {
			continue
		}
		r := usage.Record{Package: binaryName(), Engine: engine, Databases: a.databases}
		if a.err != nil {
			r.NotRun = oneLine(a.err)
		} else {
			r.How, r.Server = a.server.how, a.server.version
		}
		records = append(records, r)
	}
	return records
}

// database makes a database for the test and drops it at the test's end.
func (s *session) database(tb testing.TB, engine string) string {
	tb.Helper()
	k := s.kinds[engine]
	found := s.serverFor(tb, k)
	name := databaseName()

	ctx, cancel := context.WithTimeout(tb.Context(), databaseTimeout)
	defer cancel()
	if err := k.create(ctx, found.dsn, name); err != nil {
		tb.Fatalf("make a database on %s: %v", found.how, err)
	}
	tb.Cleanup(func() {
		// The test's own context has ended by now.
		ctx, cancel := context.WithTimeout(context.Background(), databaseTimeout)
		defer cancel()
		if err := k.drop(ctx, found.dsn, name); err != nil {
			// Not a failure: the promise under test is not this one, and a
			// server of ours takes the database along when it ends.
			tb.Logf("database %s stays on %s: %v", name, found.how, err)
		}
	})
	return k.in(found.dsn, name)
}

// serverFor returns the server, or skips or fails the test.
func (s *session) serverFor(tb testing.TB, k kind) *server {
	tb.Helper()
	found, first, err := s.find(k)
	if err == nil {
		if first {
			tb.Logf("%s: %s, version %s; passed over: %q", k.name, found.how, found.version, found.missed)
		}
		return found
	}
	var none *unavailableError
	if !errors.As(err, &none) {
		tb.Fatalf("%s: %v", k.name, err)
	}
	if required, _ := s.env.required(); slices.Contains(required, k.name) {
		tb.Fatalf("%s lists %s: %s", requireVariable, k.name, none.Advice())
	}
	tb.Skip(none.Advice())
	return nil
}

// find searches once for each engine; first tells that this call did.
func (s *session) find(k kind) (found *server, first bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return nil, false, err
	}
	a := s.tried[k.name]
	if a == nil {
		first = true
		a = &attempt{}
		a.server, a.err = k.search(s.ctx)
		s.tried[k.name] = a
	}
	if a.err != nil {
		return nil, first, a.err
	}
	a.databases++
	return a.server, first, nil
}

// countFile notes that a test runs on a SQLite file.
func (s *session) countFile(tb testing.TB) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		tb.Fatal(err)
	}
	if s.tried[sqliteName] == nil {
		s.tried[sqliteName] = &attempt{server: &server{
			how: "a file in each test's own folder", version: "embedded",
		}}
	}
	s.tried[sqliteName].databases++
}

// open tells whether servers may be started; s.mu is held.
func (s *session) open() error {
	if !s.begun {
		return errors.New("engines: this package needs func TestMain(m *testing.M) { os.Exit(engines.Main(m)) }, " +
			"for else nothing would end the servers")
	}
	if s.ended {
		return errors.New("engines: the run is being ended")
	}
	return nil
}

// databaseName is new each time, so that runs can share a server.
func databaseName() string { return "slotkeeper_test_" + randomHex(8) }

// randomHex returns 2n hexadecimal digits.
func randomHex(n int) string {
	bytes := make([]byte, n)
	rand.Read(bytes) // never fails: it ends the program instead
	return hex.EncodeToString(bytes)
}
