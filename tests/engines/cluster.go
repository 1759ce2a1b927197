package engines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"slotkeeper/tests/cluster"
)

const (
	readyTimeout = time.Minute
	stopTimeout  = 15 * time.Second
	portTries    = 3
)

// keeper is the shell that holds the server. The test binary keeps the other
// end of its standard input: when that closes, since the run is over or the
// binary was killed in whatever way, it ends the server by its process id and
// removes the cluster. SIGQUIT is the quickest stop; nothing needs saving.
// $1 is the programs' folder, $2 the cluster's; the rest are the server's arguments.
const keeper = `
programs=$1 folder=$2; shift 2
exec 3<&0
"$programs/postgres" "$@" </dev/null 3<&- &
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

func findPrograms(env environment) (string, error) {
	return cluster.Programs(env.programs, env.lookPath)
}

// startCluster makes a cluster in a temporary folder and returns its server
// when that accepts a login. It returns errEndedEarly where the server ended.
func startCluster(ctx context.Context, programs string, k kind) (*server, error) {
	c, err := cluster.New(ctx, programs)
	if err != nil {
		return nil, err
	}
	held, err := keepServer(c)
	if err != nil {
		return nil, errors.Join(err, c.Remove())
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	dsn := c.DSN("postgres")
	version, err := waitForLogin(ctx, k, dsn, held.ended)
	if err != nil {
		held.stop()
		return nil, fmt.Errorf("%w; its log ends: %s", err, held.log.String())
	}
	return &server{dsn: dsn, how: "programs in " + programs, version: version, stop: held.stop}, nil
}

// heldServer is a server process under its keeper.
type heldServer struct {
	log   *cluster.Tail
	ended chan struct{} // closed when server and keeper have ended
	stop  func()
}

func keepServer(c *cluster.Cluster) (*heldServer, error) {
	args, err := c.Arguments(postgresSettings()...)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", keeper, "keeper", c.Programs, c.Folder}, args...)...)
	c.Prepare(cmd)
	held := &heldServer{log: &cluster.Tail{}, ended: make(chan struct{})}
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
	held.stop = func() { held.letGo(hold, c) }
	return held, nil
}

// letGo makes the keeper end the server, and waits for it.
func (h *heldServer) letGo(hold io.Closer, c *cluster.Cluster) {
	_ = hold.Close()
	select {
	case <-h.ended:
	case <-time.After(stopTimeout):
		fmt.Fprintf(os.Stderr, "engines: the Postgres cluster in %s is slow to end\n", c.Folder)
	}
	_ = c.Remove() // the keeper has done so, except as a user who may not
}
