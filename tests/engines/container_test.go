package engines

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// withoutDSN is this machine, as if no variable named a server. What its
// sessions use is no part of the run's report.
func withoutDSN() environment {
	env := osEnvironment()
	env.getenv = func(name string) string {
		switch name {
		case postgresVariable, sqlserverVariable, reportVariable:
			return ""
		}
		return os.Getenv(name)
	}
	return env
}

// daemonWithImage returns this machine's daemon and the image for Postgres, or
// skips the test.
func daemonWithImage(t *testing.T) (*dockertest.Pool, container) {
	t.Helper()
	pool, err := dockerPool(t.Context(), osEnvironment())
	if err != nil {
		t.Skip(err)
	}
	c := postgresContainer(withoutDSN())
	if err := haveImage(t.Context(), pool, c.image, pullStall); err != nil {
		t.Skip(err)
	}
	return pool, c
}

// On a machine that has the programs too it also shows that a container goes
// before them. Seen red with: PublishAllPorts and no HostIP; stop doing nothing;
// the programs' way standing before the container's.
func TestContainerIsPublishedOnLoopbackAndRemoved(t *testing.T) {
	pool, c := daemonWithImage(t)
	s := begun(t, withoutDSN())
	var dsn string
	fake := attempted(t, func(tb testing.TB) { dsn = s.database(tb, postgresName) })
	require.Empty(t, fake.failed+fake.skipped)
	require.Equal(t, "container "+c.image, s.records()[0].How)
	assert.NotEmpty(t, s.records()[0].Server)
	assert.Equal(t, "300", postgresSetting(t, dsn, "max_connections"))

	running := containerOn(t, pool, dsn)
	for _, port := range running.Ports {
		assert.Equal(t, "127.0.0.1", port.IP)
	}
	assert.NotEmpty(t, running.Labels[untilLabel])
	fake.finish()
	s.end()
	_, err := pool.Client.InspectContainer(running.ID)
	assert.Error(t, err, "removed")
}

func postgresSetting(t *testing.T, dsn, name string) (value string) {
	t.Helper()
	err := withPostgres(t.Context(), dsn, func(conn *pgx.Conn) error {
		return conn.QueryRow(t.Context(), "SHOW "+name).Scan(&value)
	})
	require.NoError(t, err)
	return value
}

// containerOn finds the container whose published port the DSN names.
func containerOn(t *testing.T, pool *dockertest.Pool, dsn string) docker.APIContainers {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	require.NoError(t, err)
	running, err := pool.Client.ListContainers(docker.ListContainersOptions{})
	require.NoError(t, err)
	for _, c := range running {
		for _, port := range c.Ports {
			if port.PublicPort == int64(config.Port) {
				return c
			}
		}
	}
	t.Fatalf("no container on port %d", config.Port)
	return docker.APIContainers{}
}

// Seen red with: followLog's channel never closed (it waits for a minute).
func TestContainerThatEndsIsToldWithItsLog(t *testing.T) {
	pool, c := daemonWithImage(t)
	c.command = []string{"postgres", "--no-such-option"}
	begin := time.Now()
	_, err := c.run(t.Context(), pool, postgresKind(withoutDSN()))
	assert.ErrorIs(t, err, errEndedEarly)
	assert.ErrorContains(t, err, "no-such-option")
	assert.Less(t, time.Since(begin), c.wait/2)
}

// Seen red with: the age not compared; everything kept.
func TestStaleContainersAreRemoved(t *testing.T) {
	pool, c := daemonWithImage(t)
	made := func(until string) string {
		one, err := pool.Client.CreateContainer(docker.CreateContainerOptions{
			Name:   "slotkeeper-test-stale-" + randomHex(6),
			Config: &docker.Config{Image: c.image, Labels: map[string]string{untilLabel: until}},
		})
		require.NoError(t, err)
		t.Cleanup(func() {
			_ = pool.Client.RemoveContainer(docker.RemoveContainerOptions{ID: one.ID, Force: true})
		})
		return one.ID
	}
	stale, live := made("1000000000"), made("99999999999")
	removeStale(t.Context(), pool, time.Now())
	_, err := pool.Client.InspectContainer(stale)
	assert.Error(t, err, "its run is long over")
	_, err = pool.Client.InspectContainer(live)
	assert.NoError(t, err, "its run may be alive")
}

// Seen red with: no bound around the ping (a daemon that accepts and is silent).
func TestNoDaemonIsToldQuickly(t *testing.T) {
	silent := filepath.Join(t.TempDir(), "docker.sock")
	listener, err := net.Listen("unix", silent)
	require.NoError(t, err)
	defer listener.Close()
	for _, endpoint := range []string{"unix:///nonexistent/docker.sock", "unix://" + silent, "tcp://192.0.2.1:2375"} {
		env := environmentOf(nil)
		env.docker = endpoint
		begin := time.Now()
		_, err := dockerPool(t.Context(), env)
		assert.ErrorContains(t, err, "daemon", endpoint)
		assert.Less(t, time.Since(begin), 2*daemonTimeout, endpoint)
	}
}

// The registry here takes the request and never answers, as behind a firewall
// that drops packets. Seen red with: the stall guard's timer not started.
func TestPullWithoutProgressIsGivenUp(t *testing.T) {
	pool := daemonThat(t, func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	})
	begin := time.Now()
	err := haveImage(t.Context(), pool, "postgres:17", 100*time.Millisecond)
	assert.ErrorContains(t, err, "given up")
	assert.Less(t, time.Since(begin), 10*time.Second)
}

// Seen red with: Write not resetting the timer.
func TestSlowPullWithProgressGoesOn(t *testing.T) {
	const lines, pause, stall = 8, 100 * time.Millisecond, 400 * time.Millisecond
	pool := daemonThat(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for range lines {
			_, _ = w.Write([]byte(`{"status":"Downloading"}` + "\n"))
			_ = http.NewResponseController(w).Flush()
			time.Sleep(pause)
		}
	})
	assert.NoError(t, haveImage(t.Context(), pool, "postgres:17", stall))
}

// daemonThat is a daemon that has no image and answers a pull with pull.
func daemonThat(t *testing.T, pull http.HandlerFunc) *dockertest.Pool {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "docker.sock")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	daemon := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/_ping"):
		case strings.HasSuffix(r.URL.Path, "/images/create"):
			pull(w, r)
		default:
			http.Error(w, `{"message":"no such image"}`, http.StatusNotFound)
		}
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = daemon.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = daemon.Close()
		<-served
	})
	env := environmentOf(nil)
	env.docker = "unix://" + socket
	pool, err := dockerPool(t.Context(), env)
	require.NoError(t, err)
	return pool
}

// Seen red with: runLifetime always a day.
func TestContainerLivesNoLongerThanItsRun(t *testing.T) {
	deadline, limited := t.Deadline()
	if !limited {
		assert.Equal(t, 24*time.Hour, runLifetime())
		return
	}
	assert.Greater(t, runLifetime(), time.Until(deadline))
	assert.Less(t, runLifetime(), time.Until(deadline)+time.Hour)
}
