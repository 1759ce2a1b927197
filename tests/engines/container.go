package engines

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"

	"slotkeeper/tests/cluster"
)

const (
	daemonTimeout = 3 * time.Second // a daemon on this machine answers at once
	// pullStall ends a pull that makes no progress: a registry that cannot be
	// reached must not cost minutes, yet a big image may take its time.
	pullStall   = 20 * time.Second
	pullTimeout = 10 * time.Minute

	// noImage in place of an image's name turns containers off.
	noImage = "none"

	// untilLabel marks our containers and holds the Unix second after which
	// the run that started one cannot be alive any more.
	untilLabel = "slotkeeper.test.until"
)

// container is what it takes to run one engine's image.
type container struct {
	engine   string
	variable string // of the environment, that names another image
	image    string
	port     string // as Docker writes it, e.g. "5432/tcp"
	env      []string
	command  []string // empty means the image's own
	wait     time.Duration
	dsn      func(address string) string // address is host:port
}

// fromContainer is the way of a container.
func fromContainer(env environment, c container, k kind) way {
	get := func(ctx context.Context) (*server, error) {
		found, err := c.start(ctx, env, k)
		if err != nil {
			return nil, fmt.Errorf("container %s: %w", c.image, err)
		}
		return found, nil
	}
	advice := fmt.Sprintf("run a Docker daemon that has or can pull %s (%s names another image, or %q for no container)",
		c.image, c.variable, noImage)
	return way{advice: advice, get: get}
}

func (c container) start(ctx context.Context, env environment, k kind) (*server, error) {
	if c.image == noImage {
		return nil, fmt.Errorf("turned off by %s=%s", c.variable, noImage)
	}
	pool, err := dockerPool(ctx, env)
	if err != nil {
		return nil, err
	}
	removeStale(ctx, pool, time.Now())
	if err := haveImage(ctx, pool, c.image, pullStall); err != nil {
		return nil, err
	}
	return c.run(ctx, pool, k)
}

// run starts the container and returns when it accepts a login.
func (c container) run(ctx context.Context, pool *dockertest.Pool, k kind) (*server, error) {
	repository, tag := docker.ParseRepositoryTag(c.image)
	name := "slotkeeper-test-" + c.engine + "-" + randomHex(6)
	lifetime := runLifetime()
	resource, err := pool.RunWithOptions(&dockertest.RunOptions{
		Name: name, Repository: repository, Tag: tag, Env: c.env, Cmd: c.command,
		ExposedPorts: []string{c.port},
		PortBindings: map[docker.Port][]docker.PortBinding{
			docker.Port(c.port): {{HostIP: "127.0.0.1", HostPort: "0"}},
		},
		Labels: map[string]string{untilLabel: strconv.FormatInt(time.Now().Add(lifetime).Unix(), 10)},
	}, func(host *docker.HostConfig) {
		host.AutoRemove = true
		host.PublishAllPorts = false // dockertest's default would publish on every address
		host.ShmSize = 256 << 20     // Docker's 64 MiB are too few for parallel queries
	})
	if err != nil {
		// A container that was made and never started is not auto-removed.
		return nil, errors.Join(err, pool.RemoveContainerByName(name))
	}
	// Sends its request now and leaves the waiting to the daemon, so that the
	// container ends even where this binary is killed.
	if err := resource.Expire(uint(lifetime.Seconds())); err != nil {
		return nil, errors.Join(err, purge(pool, resource))
	}
	log := followLog(pool, resource)
	stop := func() {
		err := purge(pool, resource)
		select {
		case <-log.ended:
		case <-time.After(stopTimeout):
			err = errors.Join(err, errors.New("it is slow to end"))
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "engines: container %s: %v\n", name, err)
		}
	}

	ctx, cancel := context.WithTimeout(ctx, c.wait)
	defer cancel()
	dsn := c.dsn(resource.GetHostPort(c.port))
	version, err := waitForLogin(ctx, k, dsn, log.ended)
	if err != nil {
		stop()
		return nil, fmt.Errorf("%w; its log ends: %s", err, log.text.String())
	}
	return &server{dsn: dsn, how: "container " + c.image, version: version, stop: stop}, nil
}

// dockerPool returns the daemon of this machine, or an error, quickly.
func dockerPool(ctx context.Context, env environment) (*dockertest.Pool, error) {
	pool, err := dockertest.NewPool(env.docker)
	if err != nil {
		return nil, fmt.Errorf("no Docker daemon: %w", err)
	}
	endpoint := pool.Client.Endpoint()
	if !isLocal(endpoint) {
		return nil, fmt.Errorf("the Docker daemon %s is on another machine: its containers' ports on 127.0.0.1 are there", endpoint)
	}
	ctx, cancel := context.WithTimeout(ctx, daemonTimeout)
	defer cancel()
	if err := pool.Client.PingWithContext(ctx); err != nil {
		return nil, fmt.Errorf("no Docker daemon answers at %s: %w", endpoint, err)
	}
	return pool, nil
}

func isLocal(endpoint string) bool {
	scheme, rest, _ := strings.Cut(endpoint, "://")
	if scheme == "unix" || scheme == "npipe" {
		return true
	}
	for _, host := range []string{"127.", "localhost:", "[::1]:"} {
		if strings.HasPrefix(rest, host) {
			return true
		}
	}
	return false
}

// haveImage pulls the image unless the daemon holds it. dockertest would do so
// itself, but without a bound. stall is how long a pull may make no progress.
func haveImage(ctx context.Context, pool *dockertest.Pool, image string, stall time.Duration) error {
	_, err := pool.Client.InspectImage(image)
	if err == nil || !errors.Is(err, docker.ErrNoSuchImage) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	repository, tag := docker.ParseRepositoryTag(image)
	if tag == "" {
		tag = "latest" // an empty one pulls every tag
	}
	progress := &stallGuard{timer: time.AfterFunc(stall, cancel), within: stall}
	defer progress.timer.Stop()
	err = pool.Client.PullImage(docker.PullImageOptions{
		Repository: repository, Tag: tag, OutputStream: progress, Context: ctx,
	}, docker.AuthConfiguration{})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("the image is not here and its pull was given up: no progress for %v, or %v over", stall, pullTimeout)
	}
	if err != nil {
		return fmt.Errorf("the image is not here and cannot be pulled: %w", err)
	}
	return nil
}

// stallGuard is written a pull's progress and fires its timer when that stops.
type stallGuard struct {
	timer  *time.Timer
	within time.Duration
}

func (g *stallGuard) Write(p []byte) (int, error) {
	g.timer.Reset(g.within)
	return len(p), nil
}

// containerLog is the end of what a container says; ended is closed when the
// container has stopped.
type containerLog struct {
	text  cluster.Tail
	ended chan struct{}
}

func followLog(pool *dockertest.Pool, resource *dockertest.Resource) *containerLog {
	log := &containerLog{ended: make(chan struct{})}
	go func() {
		defer close(log.ended)
		// Its error tells no more than that the log is over.
		_ = pool.Client.Logs(docker.LogsOptions{
			Container: resource.Container.ID, Follow: true, Stdout: true, Stderr: true,
			OutputStream: &log.text, ErrorStream: &log.text,
		})
	}()
	return log
}

// purge ends and removes the container. That it is gone, or just going since
// its own end removes it too, is what was wanted.
func purge(pool *dockertest.Pool, resource *dockertest.Resource) error {
	err := pool.Purge(resource)
	var gone *docker.NoSuchContainer
	var answer *docker.Error
	if errors.As(err, &gone) || errors.As(err, &answer) && answer.Status == http.StatusConflict {
		return nil
	}
	return err
}

// removeStale removes containers of runs that cannot be alive any more: the
// daemon may have been restarted before it ended one that was left behind.
func removeStale(ctx context.Context, pool *dockertest.Pool, now time.Time) {
	ours, err := pool.Client.ListContainers(docker.ListContainersOptions{
		All: true, Filters: map[string][]string{"label": {untilLabel}}, Context: ctx,
	})
	if err != nil {
		return // nothing depends on it
	}
	for _, c := range ours {
		until, err := strconv.ParseInt(c.Labels[untilLabel], 10, 64)
		if err == nil && now.Unix() <= until {
			continue
		}
		// Another test binary may be removing it at this moment.
		_ = pool.Client.RemoveContainer(docker.RemoveContainerOptions{
			ID: c.ID, Force: true, RemoveVolumes: true, Context: ctx,
		})
	}
}

// runLifetime is how long this binary can live at most: go test's own limit,
// or a day where that is off.
func runLifetime() time.Duration {
	const unlimited = 24 * time.Hour
	limit := flag.Lookup("test.timeout")
	if limit == nil {
		return unlimited
	}
	value, err := time.ParseDuration(limit.Value.String())
	if err != nil || value <= 0 {
		return unlimited
	}
	return value + time.Minute
}
