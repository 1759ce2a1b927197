//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// cluster is a temporary Postgres with the durability that a clinic runs with.
type cluster struct {
	bin  string // folder of its programs
	dir  string
	port string
	proc *exec.Cmd
	as   *syscall.SysProcAttr
}

// startCluster makes and starts a cluster below dir. Only what a machine of
// any size sets is set; fsync and synchronous_commit keep their defaults, on.
func startCluster(ctx context.Context, dir string) (*cluster, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(found) == 0 {
		return nil, fmt.Errorf("no Postgres programs in /usr/lib/postgresql: install the package postgresql")
	}
	slices.SortFunc(found, func(a, b string) int { return major(a) - major(b) })
	c := &cluster{bin: found[len(found)-1], dir: filepath.Join(dir, "pg")}
	var err error
	if c.as, err = unprivileged(); err != nil {
		return nil, err
	}
	if err := os.Mkdir(c.dir, 0o700); err != nil {
		return nil, err
	}
	if c.as.Credential != nil {
		if err := os.Chown(c.dir, int(c.as.Credential.Uid), int(c.as.Credential.Gid)); err != nil {
			return nil, err
		}
	}
	if out, err := c.command(ctx, "initdb", "-D", c.dir, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-locale").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	if c.port, err = freePort(); err != nil {
		return nil, err
	}
	c.proc = c.command(context.WithoutCancel(ctx), "postgres", "-D", c.dir, "-p", c.port, "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "max_connections=300", "-c", "shared_buffers=512MB", "-c", "max_wal_size=8GB",
		"-c", "logging_collector=off", "-c", "log_min_messages=fatal")
	if err := c.proc.Start(); err != nil {
		return nil, err
	}
	err = until(ctx, func() error {
		conn, err := pgx.Connect(ctx, c.dsn("postgres"))
		if err == nil {
			err = conn.Close(ctx)
		}
		return err
	})
	if err != nil {
		c.stop()
	}
	return c, err
}

func major(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	return n
}

// unprivileged runs a program as postgres where we are root, whom the server
// refuses, and has it end with us.
func unprivileged() (*syscall.SysProcAttr, error) {
	as := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() != 0 {
		return as, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return as, nil
}

func (c *cluster) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, program), args...)
	cmd.SysProcAttr, cmd.Dir = c.as, "/"
	return cmd
}

func (c *cluster) dsn(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%s/%s?sslmode=disable", c.port, database)
}

// create makes an empty database and runs the statements in it.
func (c *cluster) create(ctx context.Context, database string, statements ...string) error {
	if err := c.exec(ctx, "postgres", "CREATE DATABASE "+database); err != nil {
		return err
	}
	return c.exec(ctx, database, statements...)
}

func (c *cluster) exec(ctx context.Context, database string, statements ...string) error {
	conn, err := pgx.Connect(ctx, c.dsn(database))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			return fmt.Errorf("%.40s: %w", s, err)
		}
	}
	return nil
}

func (c *cluster) count(ctx context.Context, database, query string) (n int, err error) {
	conn, err := pgx.Connect(ctx, c.dsn(database))
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	return n, conn.QueryRow(ctx, query).Scan(&n)
}

func (c *cluster) stop() {
	_ = c.proc.Process.Signal(syscall.SIGINT) // fast shutdown
	_ = c.proc.Wait()
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
