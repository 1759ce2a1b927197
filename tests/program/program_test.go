// Package program tests the built binary from outside: its commands, exit
// codes, logs and signals, over loopback connections, on SQLite files and,
// where there is one, on Postgres.
package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slotkeeper/tests/served"
)

// binary is the built program; TestMain sets it once for all tests.
var binary string

func TestMain(m *testing.M) {
	served.Main(m, func(built string) { binary = built }, "-ldflags", "-X main.version=v0.0.0-test")
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
	require.NoError(t, served.LookAtSources())
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
	t   *testing.T
	of  *served.Server
	url string // http://127.0.0.1:PORT
}

// serve starts the program on a free port and waits until it says where it
// listens. It is ended with the test.
func serve(t *testing.T, db string, args ...string) *server {
	t.Helper()
	of, err := served.Start(t, binary, db, "127.0.0.1:0", args...)
	require.NoError(t, err)
	s := &server{t: t, of: of, url: of.URL()}
	t.Cleanup(func() {
		of.Kill()
		assert.NotContains(t, s.logged(), secret)
	})
	return s
}

func (s *server) logged() string { return s.of.Log() }

func (s *server) signal(sig os.Signal) {
	s.t.Helper()
	require.NoError(s.t, s.of.Signal(sig))
}

// exitCode waits for the end; -1 stands for an end by a signal.
func (s *server) exitCode() int {
	s.t.Helper()
	select {
	case <-s.of.Done():
	case <-time.After(patience):
		s.t.Fatal("the program does not end: " + s.logged())
	}
	return s.of.ExitCode()
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
