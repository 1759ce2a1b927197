// Package served builds the program and runs it as its own process, for tests
// that look at it from outside, or break it, or what it stands on.
package served

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"slotkeeper/tests/engines"
)

// Long says whether the faults run at full length (`make test-faults`) or, as
// in `make test`, in a short form.
func Long() bool { return os.Getenv("SLOTKEEPER_TEST_FAULTS") == "long" }

// Pick is long where faults run at full length, else short.
func Pick[T any](short, long T) T {
	if Long() {
		return long
	}
	return short
}

// Figures prints what was injected, how often, and what came of it.
func Figures(t testing.TB, format string, args ...any) {
	t.Helper()
	t.Logf("FIGURES %s", fmt.Sprintf(format, args...))
}

// Main builds the program, with further flags of `go build`, runs the tests of a
// package and ends the process; binary is handed to the tests by set.
func Main(m *testing.M, set func(binary string), flags ...string) {
	os.Exit(buildAndRun(m, set, flags))
}

func buildAndRun(m *testing.M, set func(binary string), flags []string) int {
	dir, err := os.MkdirTemp("", "slotkeeper-served-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "slotkeeper")
	args := append([]string{"build", "-o", binary}, flags...)
	if raceEnabled {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "slotkeeper")...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	set(binary)
	return engines.Main(m)
}

// LookAtSources lists the folders that the program is built from. go test keeps
// a result as long as what the tests opened is unchanged, and does not see what
// a child builds from: a program broken since would pass from the cache. Only
// what is opened while tests run counts, so Main would be too early.
func LookAtSources() error {
	root, err := os.Getwd()
	for err == nil && !isFile(filepath.Join(root, "go.mod")) {
		if root == filepath.Dir(root) {
			err = errors.New("no go.mod above the tests")
		}
		root = filepath.Dir(root)
	}
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		return err
	})
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Server is a running `slotkeeper serve`.
type Server struct {
	Address string // host:port
	PID     int

	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended

	mu  sync.Mutex
	log strings.Builder
}

// URL is where the server answers, without a slash at its end.
func (s *Server) URL() string { return "http://" + s.Address }

// Start runs the program with `serve` and args on the loopback address listen
// ("127.0.0.1:0" for any port) and returns when it listens, or with why it does
// not. It is killed with the test, and with this process.
func Start(t testing.TB, binary, db, listen string, args ...string) (*Server, error) {
	t.Helper()
	if err := LookAtSources(); err != nil {
		return nil, err
	}
	args = append([]string{"serve", "--db", db, "--listen", listen, "--log-format", "json"}, args...)
	s := &Server{cmd: exec.Command(binary, args...), done: make(chan struct{})}
	s.cmd.Dir = t.TempDir()
	s.cmd.SysProcAttr = endWithUs()
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "SLOTKEEPER_") { // the environment's own settings are not the test's
			s.cmd.Env = append(s.cmd.Env, pair)
		}
	}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.PID = s.cmd.Process.Pid
	address := make(chan string, 1)
	go s.read(stderr, address)
	t.Cleanup(s.Kill)
	select {
	case at := <-address:
		_, port, err := net.SplitHostPort(strings.TrimPrefix(at, "http://"))
		s.Address = net.JoinHostPort("127.0.0.1", port)
		return s, err
	case <-s.done:
		return nil, fmt.Errorf("the program ended: %s", s.Log())
	case <-time.After(30 * time.Second):
		return nil, fmt.Errorf("the program does not listen: %s", s.Log())
	}
}

// read keeps the log and finds the address in it.
func (s *Server) read(stderr io.Reader, address chan<- string) {
	defer close(s.done)
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20) // a panic's stack may stand in one line
	found := false
	for lines.Scan() {
		s.mu.Lock()
		s.log.WriteString(lines.Text() + "\n")
		s.mu.Unlock()
		if found {
			continue // under load there are many lines, and the program needs the processors
		}
		var entry struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "serving" {
			found = true
			address <- entry.Address
		}
	}
	_ = s.cmd.Wait() // how it ended is asked of ProcessState
}

// Log is what the process has written so far.
func (s *Server) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// Kill ends the process at once (SIGKILL) and waits until it is gone.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	<-s.done
}

// Stop asks the process to end (SIGTERM), waits, and returns its exit code.
func (s *Server) Stop() int {
	_ = s.Signal(syscall.SIGTERM) // it may have ended
	<-s.done
	return s.ExitCode()
}

// Signal sends the process a signal.
func (s *Server) Signal(sig os.Signal) error { return s.cmd.Process.Signal(sig) }

// ExitCode is that of a process which has ended (see Done); -1 stands for an
// end by a signal.
func (s *Server) ExitCode() int { return s.cmd.ProcessState.ExitCode() }

// Done is closed when the process has ended.
func (s *Server) Done() <-chan struct{} { return s.done }
