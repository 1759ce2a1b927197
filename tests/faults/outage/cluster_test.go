package outage

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// cluster is a Postgres server of this package's own, since it is stopped.
type cluster struct {
	programs, folder, address string

	cmd   *exec.Cmd
	ended chan struct{}

	mu  sync.Mutex
	log bytes.Buffer
}

// connections is small, so that they are soon used up; every reserved one is
// the superuser's, as whom all log in here.
const connections = 60

// newCluster makes and starts one. Without Postgres's programs the test is
// skipped, or fails where SLOTKEEPER_TEST_REQUIRE lists postgres.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		if slices.Contains(strings.Split(os.Getenv("SLOTKEEPER_TEST_REQUIRE"), ","), "postgres") {
			t.Fatal("no initdb in /usr/lib/postgresql/*/bin or PATH")
		}
		t.Skip("NOT RUN: a Postgres that may be stopped needs its programs: install postgresql")
	}
	folder, err := os.MkdirTemp("", "slotkeeper-outage-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(folder) })
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	c := &cluster{programs: filepath.Dir(found[0]), folder: folder, address: listener.Addr().String()}
	initdb := c.command("initdb", "-D", filepath.Join(folder, "data"), "-U", "postgres", "-A", "trust", "--encoding=UTF8", "--no-locale", "--no-sync")
	if credential := initdb.SysProcAttr.Credential; credential != nil {
		require.NoError(t, os.Chown(folder, int(credential.Uid), int(credential.Gid)))
	}
	out, err := initdb.CombinedOutput()
	require.NoError(t, err, "%s", out)
	c.start(t)
	t.Cleanup(c.stop)
	return c
}

// command is a program of Postgres, which refuses to run as root.
func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.programs, name), args...)
	cmd.Dir = c.folder
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.folder, "LC_ALL=C"}
	cmd.SysProcAttr = endWithUs()
	if account, err := user.Lookup("postgres"); err == nil && os.Geteuid() == 0 {
		uid, _ := strconv.ParseUint(account.Uid, 10, 32)
		gid, _ := strconv.ParseUint(account.Gid, 10, 32)
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return cmd
}

// launch starts the server and returns at once.
func (c *cluster) launch(t testing.TB) {
	t.Helper()
	host, port, err := net.SplitHostPort(c.address)
	require.NoError(t, err)
	c.cmd = c.command("postgres", "-D", filepath.Join(c.folder, "data"), "-h", host, "-p", port,
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", fmt.Sprintf("max_connections=%d", connections))
	c.cmd.Stderr = c
	require.NoError(t, c.cmd.Start())
	ended := make(chan struct{})
	c.ended = ended
	go func() { defer close(ended); _ = c.cmd.Wait() }()
}

// start returns when the server takes a login.
func (c *cluster) start(t testing.TB) {
	t.Helper()
	c.launch(t)
	until(t, time.Minute, "the cluster takes a login", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, c.dsn("postgres"))
		if err != nil {
			return false
		}
		return conn.Close(ctx) == nil
	})
}

// stop is pg_ctl's "immediate": nothing is finished, nothing written down.
func (c *cluster) stop() {
	_ = c.cmd.Process.Signal(syscall.SIGQUIT)
	<-c.ended
}

// again starts it for the next test, if a failed one left it ended.
func (c *cluster) again(t testing.TB) {
	select {
	case <-c.ended:
		c.start(t)
	default:
	}
}

// Write keeps the server's log.
func (c *cluster) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.Write(p)
}

func (c *cluster) dsn(database string) string { return dsnAt(c.address, database) }

func dsnAt(address, database string) string {
	return (&url.URL{Scheme: "postgres", User: url.User("postgres"), Host: address, Path: database, RawQuery: "sslmode=disable"}).String()
}

// database makes an empty one and returns its name.
func (c *cluster) database(t testing.TB, name string) string {
	t.Helper()
	db := open(t, c.dsn("postgres"))
	defer db.Close()
	_, err := db.ExecContext(short(t), "CREATE DATABASE "+name)
	require.NoError(t, err)
	return name
}
