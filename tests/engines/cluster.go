package engines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	initTimeout  = 2 * time.Minute // initdb takes a second or two
	readyTimeout = time.Minute
	stopTimeout  = 15 * time.Second
	portTries    = 3
)

// keeper is the shell that holds the server. The test binary keeps the other
// end of its standard input: when that closes, since the run is over or the
// binary was killed in whatever way, it ends the server by its process id and
// removes the cluster. SIGQUIT is the quickest stop; nothing needs saving.
// $1 is the programs' folder, $2 the cluster's; the rest are server options.
const keeper = `
programs=$1 folder=$2; shift 2
exec 3<&0
"$programs/postgres" -D "$folder/data" "$@" </dev/null 3<&- &
server=$!
{ read -r _ <&3; kill -QUIT "$server"; } >/dev/null 2>&1 &
reader=$!
wait "$server"
kill "$reader" 2>/dev/null
rm -rf "$folder"
`

// fromPrograms is the way of the machine's own Postgres programs.
func fromPrograms(env environment, k kind) way {
	get := func(ctx context.Context) (*server, error) {
		folder, err := findPrograms(env)
		if err != nil {
			return nil, err
		}
		found, err := startCluster(ctx, folder, k)
		// The port was free a moment ago: another program may have taken it.
		for try := 1; try < portTries && errors.Is(err, errEndedEarly); try++ {
			found, err = startCluster(ctx, folder, k)
		}
		if err != nil {
			return nil, fmt.Errorf("programs in %s: %w", folder, err)
		}
		return found, nil
	}
	advice := fmt.Sprintf("install the server programs of Postgres (initdb and postgres, in %s or PATH)", env.programs)
	return way{advice: advice, get: get}
}

// findPrograms returns the folder of the newest initdb and postgres.
func findPrograms(env environment) (string, error) {
	folders, err := filepath.Glob(env.programs)
	if err != nil {
		return "", err
	}
	newest, best := "", -1
	for _, folder := range folders {
		version, err := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
		if err == nil && version > best && hasPrograms(folder) {
			newest, best = folder, version
		}
	}
	if newest != "" {
		return newest, nil
	}
	if program, err := env.lookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(program); err == nil {
			program = real // the server looks for its own files beside itself
		}
		if folder := filepath.Dir(program); hasPrograms(folder) {
			return folder, nil
		}
	}
	return "", fmt.Errorf("no initdb and postgres in %s or PATH", env.programs)
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

// startCluster makes a cluster in a temporary folder and returns its server
// when that accepts a login. It returns errEndedEarly where the server ended.
func startCluster(ctx context.Context, programs string, k kind) (*server, error) {
	folder, err := os.MkdirTemp("", "slotkeeper-test-postgres-")
	if err != nil {
		return nil, err
	}
	found, err := startIn(ctx, folder, programs, k)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return found, nil
}

func startIn(ctx context.Context, folder, programs string, k kind) (*server, error) {
	as, err := clusterUser()
	if err != nil {
		return nil, err
	}
	password := randomHex(16)
	if err := initCluster(ctx, folder, programs, password, as); err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	held, err := keepServer(folder, programs, address, as)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	dsn := postgresDSN(address, password)
	version, err := waitForLogin(ctx, k, dsn, held.ended)
	if err != nil {
		held.stop()
		return nil, fmt.Errorf("%w; its log ends: %s", err, held.log.String())
	}
	return &server{dsn: dsn, how: "programs in " + programs, version: version, stop: held.stop}, nil
}

// initCluster makes an empty cluster. Its password keeps other users of the
// machine out, who could else become the server's system user through it.
func initCluster(ctx context.Context, folder, programs, password string, as runAs) error {
	secret := filepath.Join(folder, "password")
	if err := os.WriteFile(secret, []byte(password), 0o600); err != nil {
		return err
	}
	for _, path := range []string{folder, secret} {
		if err := as.own(path); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, initTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "initdb"),
		"-D", filepath.Join(folder, "data"), "-U", "postgres", "-A", "scram-sha-256",
		"--pwfile", secret, "--encoding=UTF8", "--no-locale", "--no-sync")
	as.prepare(cmd, folder)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(string(text)))
	}
	return nil
}

// heldServer is a server process under its keeper.
type heldServer struct {
	log   *tail
	ended chan struct{} // closed when server and keeper have ended
	stop  func()
}

func keepServer(folder, programs, address string, as runAs) (*heldServer, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	settings := append(postgresSettings(),
		"-c", "listen_addresses="+host, "-p", port, "-c", "unix_socket_directories=")
	cmd := exec.Command("/bin/sh", append([]string{"-c", keeper, "keeper", programs, folder}, settings...)...)
	as.prepare(cmd, folder)
	held := &heldServer{log: &tail{}, ended: make(chan struct{})}
	cmd.Stderr = held.log
	hold, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(held.ended)
		_ = cmd.Wait() // the log tells more than the status
	}()
	held.stop = func() { held.letGo(hold, folder) }
	return held, nil
}

// letGo makes the keeper end the server, and waits for it.
func (h *heldServer) letGo(hold io.Closer, folder string) {
	_ = hold.Close()
	select {
	case <-h.ended:
	case <-time.After(stopTimeout):
		fmt.Fprintf(os.Stderr, "engines: the Postgres cluster in %s is slow to end\n", folder)
	}
	_ = os.RemoveAll(folder) // the keeper has done so, except as a user who may not
}

// freeAddress returns a loopback address whose port was free just now.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
