//go:build unix

package engines

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const noDocker = "unix:///nonexistent/docker.sock"

// onPrograms returns a session on a machine without DSN and Docker daemon, and
// skips the test where Postgres' programs are missing.
func onPrograms(t *testing.T) *session {
	t.Helper()
	env := withoutDSN()
	env.docker = noDocker
	if _, err := findPrograms(env); err != nil {
		t.Skip(err)
	}
	return begun(t, env)
}

// Seen red with: max_connections left at what initdb writes; listen_addresses
// set to '*'; stop not closing the keeper's standard input.
func TestClusterListensOnLoopbackAndEnds(t *testing.T) {
	s := onPrograms(t)
	var dsn string
	fake := attempted(t, func(tb testing.TB) { dsn = s.database(tb, postgresName) })
	require.Empty(t, fake.failed+fake.skipped)
	assert.Contains(t, s.records()[0].How, "programs in ")
	assert.Equal(t, "127.0.0.1", postgresSetting(t, dsn, "listen_addresses"))
	assert.Equal(t, "", postgresSetting(t, dsn, "unix_socket_directories"))
	assert.Equal(t, "300", postgresSetting(t, dsn, "max_connections"))
	folder := postgresSetting(t, dsn, "data_directory")
	require.DirExists(t, folder)

	s.end()
	assert.False(t, answers(dsn))
	assert.NoDirExists(t, filepath.Dir(folder))
}

// answers tells whether something listens where the DSN points.
func answers(dsn string) bool {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return false
	}
	conn, err := net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.ParseIP(config.Host), Port: int(config.Port)})
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// Seen red with: fromEnvironment standing last in postgresKind; a stop that
// ends every server.
func TestEnvironmentGoesBeforeProgramsAndIsLeftRunning(t *testing.T) {
	owner := onPrograms(t)
	var dsn, database string
	fake := attempted(t, func(tb testing.TB) { dsn = owner.database(tb, postgresName) })
	require.Empty(t, fake.failed+fake.skipped)

	env := osEnvironment()
	env.getenv = func(name string) string { return map[string]string{postgresVariable: dsn}[name] }
	guest := begun(t, env)
	fake = attempted(t, func(tb testing.TB) { database = guest.database(tb, postgresName) })
	require.Empty(t, fake.failed+fake.skipped)
	assert.Contains(t, guest.records()[0].How, "SLOTKEEPER_TEST_POSTGRES at 127.0.0.1:")
	assert.NotEqual(t, dsn, database)
	fake.finish()
	guest.end()
	assert.True(t, answers(dsn), "the server is its owner's")
}

// Seen red with: versions compared as text; hasPrograms always true.
func TestNewestProgramsAreFound(t *testing.T) {
	root := t.TempDir()
	for _, version := range []string{"9", "13", "17", "18", "old"} {
		folder := filepath.Join(root, version, "bin")
		require.NoError(t, os.MkdirAll(folder, 0o755))
		for _, name := range []string{"initdb", "postgres"} {
			if version == "18" && name == "postgres" {
				continue // the client's package alone
			}
			require.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o755))
		}
	}
	env := environmentOf(nil)
	env.programs = filepath.Join(root, "*", "bin")
	folder, err := findPrograms(env)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(root, "17", "bin"), folder)

	env.programs = "/nonexistent/*/bin"
	env.lookPath = func(string) (string, error) { return filepath.Join(root, "13", "bin", "initdb"), nil }
	folder, err = findPrograms(env)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(root, "13", "bin"), folder)
}

// TestChild is the test of a binary that the tests below interrupt and kill.
func TestChild(t *testing.T) {
	if os.Getenv("ENGINES_TEST_CHILD") == "" {
		t.Skip("it is for other tests to run")
	}
	dsn := Postgres(t)
	_, _ = os.Stdout.WriteString("DSN " + dsn + "\n")
	<-make(chan struct{}) // until it is ended
}

// child runs TestChild in a process of its own and returns the DSN it got.
func child(t *testing.T, variables ...string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.timeout=2m", "-test.v")
	cmd.Env = append(os.Environ(), "ENGINES_TEST_CHILD=1", requireVariable+"=", reportVariable+"=", postgresVariable+"=")
	cmd.Env = append(cmd.Env, variables...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	said := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if dsn, found := strings.CutPrefix(lines.Text(), "DSN "); found {
			go func() { // its last words are of no interest but must have a reader
				for lines.Scan() {
				}
			}()
			return cmd, dsn
		}
		said += lines.Text() + "\n"
	}
	t.Skip("the other process got no Postgres:\n" + said)
	return nil, ""
}

// Seen red with: a keeper that does not read its standard input; one that does
// not remove the folder.
func TestClusterEndsWithAKilledBinary(t *testing.T) {
	cmd, dsn := child(t, "DOCKER_HOST="+noDocker)
	folder := filepath.Dir(postgresSetting(t, dsn, "data_directory"))
	require.DirExists(t, folder)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	eventually(t, "the server has ended", func() bool { return !answers(dsn) })
	eventually(t, "its folder is gone", func() bool {
		_, err := os.Stat(folder)
		return os.IsNotExist(err)
	})
}

// Seen red with: no signal.Notify in run.
func TestSignalEndsTheServers(t *testing.T) {
	for name, variables := range map[string][]string{
		"programs": {"DOCKER_HOST=" + noDocker},
		// What the machine gives first: a container where there is a daemon.
		"first way": {},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, dsn := child(t, variables...)
			require.True(t, answers(dsn))
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			err := cmd.Wait()
			assert.ErrorContains(t, err, "exit status 143")
			assert.False(t, answers(dsn), "ended before the binary was")
		})
	}
}
