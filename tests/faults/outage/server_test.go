package outage

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slotkeeper/tests/cluster"
)

// postgres is a server of this package's own, since it is stopped.
type postgres struct {
	*cluster.Cluster
	server *cluster.Server
}

// connections is small, so that they are soon used up; every reserved one is
// the superuser's, as whom all log in here.
const connections = 60

// newPostgres makes and starts one. Without Postgres's programs the test is
// skipped, or fails where SLOTKEEPER_TEST_REQUIRE lists postgres.
func newPostgres(t *testing.T) *postgres {
	t.Helper()
	programs, err := cluster.Programs(cluster.Folders, exec.LookPath)
	if err != nil {
		if slices.Contains(strings.Split(os.Getenv("SLOTKEEPER_TEST_REQUIRE"), ","), "postgres") {
			t.Fatal(err)
		}
		t.Skipf("NOT RUN: a Postgres that may be stopped needs its programs: %v", err)
	}
	c, err := cluster.New(context.Background(), programs)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Remove() })
	p := &postgres{Cluster: c}
	p.start(t)
	t.Cleanup(func() { p.server.Crash() })
	return p
}

// start returns when the server takes a login.
func (p *postgres) start(t testing.TB) {
	t.Helper()
	var err error
	p.server, err = p.Start(context.Background(), "fsync=off", fmt.Sprintf("max_connections=%d", connections))
	require.NoError(t, err)
}

// again starts it for the next test, if a failed one left it ended.
func (p *postgres) again(t testing.TB) {
	select {
	case <-p.server.Ended:
		p.start(t)
	default:
	}
}

// database makes an empty one and returns its name.
func (p *postgres) database(t testing.TB, name string) string {
	t.Helper()
	db := open(t, p.DSN("postgres"))
	defer db.Close()
	_, err := db.ExecContext(short(t), "CREATE DATABASE "+name)
	require.NoError(t, err)
	return name
}
