// Package program tests the built binary from outside: its commands, exit
// codes, logs and signals, over loopback connections, on SQLite files and,
// where there is one, on Postgres.
package program

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slotkeeper/tests/engines"
)

// binary is the built program; TestMain sets it once for all tests.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "slotkeeper-program-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "slotkeeper")
	build := exec.Command("go", "build", "-o", binary, "-ldflags", "-X main.version=v0.0.0-test", "../..")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return engines.Main(m)
}

// lookAtSources lists the folders that the program is built from. go test keeps
// a result as long as what the tests opened is unchanged, and does not see what
// a child builds from: a program broken since would pass from the cache. Only
// what is opened while tests run counts, so TestMain would be too early.
func lookAtSources() error {
	return filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != "../.." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		return err
	})
}

// patience bounds what a test waits for.
const patience = 20 * time.Second

// secret stands in for a password; no output may ever contain it.
const secret = "s3cret-w0rd"

// result is what a command left behind.
type result struct {
	code           int
	stdout, stderr string
}

// command prepares the program in a folder of its own, without the
// environment's own settings.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	require.NoError(t, lookAtSources())
	cmd := exec.Command(binary, args...)
	cmd.Dir = t.TempDir()
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "SLOTKEEPER_") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// run runs the program to its end.
func run(t *testing.T, args ...string) result {
	t.Helper()
	return finish(t, command(t, nil, args...))
}

func finish(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	return start(t, cmd)()
}

// start starts the program; wait waits for its end.
func start(t *testing.T, cmd *exec.Cmd) (wait func() result) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Start())
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	return func() result {
		t.Helper()
		defer timer.Stop()
		err := cmd.Wait()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			require.NoError(t, err)
		}
		r := result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
		assert.NotContains(t, r.stdout+r.stderr, secret)
		return r
	}
}

// server is a running slotkeeper serve.
type server struct {
	t    *testing.T
	cmd  *exec.Cmd
	url  string // http://127.0.0.1:PORT
	done chan struct{}

	mu  sync.Mutex
	log strings.Builder
}

// serve starts the program on a free port and waits until it says where it
// listens. It is ended with the test.
func serve(t *testing.T, db string, args ...string) *server {
	t.Helper()
	args = append([]string{"serve", "--db", db, "--listen", "127.0.0.1:0", "--log-format", "json"}, args...)
	s := &server{t: t, cmd: command(t, nil, args...), done: make(chan struct{})}
	stderr, err := s.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	address := make(chan string, 1)
	go s.read(stderr, address)
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it may have ended
		<-s.done
		assert.NotContains(t, s.logged(), secret)
	})
	select {
	case s.url = <-address:
	case <-s.done:
		t.Fatal("the program ended: " + s.logged())
	case <-time.After(patience):
		t.Fatal("the program does not listen: " + s.logged())
	}
	return s
}

// read keeps the log and finds the address in it.
func (s *server) read(stderr io.Reader, address chan<- string) {
	defer close(s.done)
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		s.mu.Lock()
		s.log.WriteString(lines.Text() + "\n")
		s.mu.Unlock()
		var entry struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "serving" {
			address <- entry.Address
		}
	}
	_ = s.cmd.Wait() // exitCode looks at what it was
}

func (s *server) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

func (s *server) signal(sig syscall.Signal) {
	s.t.Helper()
	require.NoError(s.t, s.cmd.Process.Signal(sig))
}

// exitCode waits for the end; -1 stands for an end by a signal.
func (s *server) exitCode() int {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(patience):
		s.t.Fatal("the program does not end: " + s.logged())
	}
	return s.cmd.ProcessState.ExitCode()
}

// answer is a response that was read.
type answer struct {
	status int
	header http.Header
	body   string
}

// code returns a problem's code.
func (a answer) code() string {
	var p struct{ Code string }
	_ = json.Unmarshal([]byte(a.body), &p) // what is no problem has no code
	return p.Code
}

func (s *server) get(path string) answer { return s.ask("GET", path, "") }

func (s *server) post(path, body string) answer { return s.ask("POST", path, body) }

func (s *server) ask(method, path, body string) answer {
	s.t.Helper()
	a, err := s.try(method, path, body)
	require.NoError(s.t, err)
	return a
}

// try asks on a connection of its own.
func (s *server) try(method, path, body string) (answer, error) {
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Close = true
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{}}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text)}, err
}

// newDB returns the DSN of a file that is not there yet.
func newDB(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "slots.db") }

// data returns the path of a file in testdata.
func data(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	require.NoError(t, err)
	return path
}
