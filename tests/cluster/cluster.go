// Package cluster makes temporary Postgres clusters from the machine's own
// programs. Each listens on a loopback address, under a password that keeps
// other users of the machine out, who could else become its system user.
package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Folders is a glob of where Debian's packages have the programs.
const Folders = "/usr/lib/postgresql/*/bin"

const initTimeout = 2 * time.Minute // initdb takes a second or two

// Programs returns the folder of the newest initdb and postgres of those that
// a glob like Folders names, else the one where lookPath finds initdb.
func Programs(folders string, lookPath func(string) (string, error)) (string, error) {
	found, err := filepath.Glob(folders)
	if err != nil {
		return "", err
	}
	newest, best := "", -1
	for _, folder := range found {
		version, err := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
		if err == nil && version > best && hasPrograms(folder) {
			newest, best = folder, version
		}
	}
	if newest != "" {
		return newest, nil
	}
	if program, err := lookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(program); err == nil {
			program = real // the server looks for its own files beside itself
		}
		if folder := filepath.Dir(program); hasPrograms(folder) {
			return folder, nil
		}
	}
	return "", fmt.Errorf("no initdb and postgres in %s or PATH", folders)
}

func hasPrograms(folder string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil || info.IsDir() {
			return false
		}
	}
	return true
}

// Cluster is one that was made; whether its server runs is its user's affair.
type Cluster struct {
	Programs string // folder of the programs
	Folder   string // has all of it
	Address  string // host:port for the server, free when the cluster was made

	password string
	as       runAs
}

// New makes a cluster in a temporary folder with the programs of a folder.
func New(ctx context.Context, programs string) (*Cluster, error) {
	as, err := clusterUser()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "slotkeeper-test-postgres-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{Programs: programs, Folder: folder, password: rand.Text(), as: as}
	if err = c.init(ctx); err == nil {
		c.Address, err = FreeAddress()
	}
	if err != nil {
		return nil, errors.Join(err, c.Remove())
	}
	return c, nil
}

func (c *Cluster) init(ctx context.Context) error {
	secret := filepath.Join(c.Folder, "password")
	if err := os.WriteFile(secret, []byte(c.password), 0o600); err != nil {
		return err
	}
	for _, path := range []string{c.Folder, secret} {
		if err := c.as.own(path); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, initTimeout)
	defer cancel()
	cmd := c.Command(ctx, "initdb", "-D", c.data(), "-U", "postgres", "-A", "scram-sha-256",
		"--pwfile", secret, "--encoding=UTF8", "--no-locale", "--no-sync")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(string(text)))
	}
	return nil
}

func (c *Cluster) data() string { return filepath.Join(c.Folder, "data") }

// Remove removes the folder of a cluster whose server does not run.
func (c *Cluster) Remove() error { return os.RemoveAll(c.Folder) }

// DSN is the superuser's login to a database.
func (c *Cluster) DSN(database string) string { return c.DSNAt(c.Address, database) }

// DSNAt is DSN by way of another address.
func (c *Cluster) DSNAt(address, database string) string {
	return (&url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword("postgres", c.password),
		Host:     address,
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}).String()
}

// Command is one of Postgres's programs, run as the cluster's system user, with
// the superuser's login to its server as the default of a client.
func (c *Cluster) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.Programs, program), args...)
	c.Prepare(cmd)
	if host, port, err := net.SplitHostPort(c.Address); err == nil {
		cmd.Env = append(cmd.Env, "PGHOST="+host, "PGPORT="+port, "PGUSER=postgres", "PGPASSWORD="+c.password)
	}
	return cmd
}

// Prepare lets a command run as the cluster's system user in its folder.
func (c *Cluster) Prepare(cmd *exec.Cmd) { c.as.prepare(cmd, c.Folder) }

// Arguments are those of the server, with settings like "fsync=off".
func (c *Cluster) Arguments(settings ...string) ([]string, error) {
	host, port, err := net.SplitHostPort(c.Address)
	if err != nil {
		return nil, err
	}
	args := []string{"-D", c.data(), "-p", port, "-c", "listen_addresses=" + host, "-c", "unix_socket_directories="}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return args, nil
}

// FreeAddress returns a loopback address whose port was free just now.
func FreeAddress() (string, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
