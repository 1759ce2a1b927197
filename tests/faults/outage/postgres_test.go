package outage

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"slotkeeper/tests/served"
)

// fault is a way to take a database away and give it back.
type fault struct {
	name string
	run  func(*testing.T, *postgres, *site, *wire)
}

// TestPostgres takes a Postgres away in every way that its clients can notice;
// all on one server.
func TestPostgres(t *testing.T) {
	c := newPostgres(t)
	faults := []fault{
		{"stopped at once", theServerIsStopped},
		{"no connection left", noConnectionIsLeft},
		{"answers torn", answersAreTorn},
		{"answers lost", answersAreLost},
		{"tables locked", tablesAreLocked},
		{"cut off", theServerIsCutOff},
		{"answers late", answersAreLate},
	}
	if served.Long() {
		for i, f := range faults {
			f.on(t, c, i, true)
			f.on(t, c, i, false)
		}
		return
	}
	for i, f := range faults[:2] { // the whole server's
		f.on(t, c, i, i == 0)
	}
	t.Run("beside each other", func(t *testing.T) { // they wait for time-outs mostly
		for i, f := range faults[2:5] {
			f.on(t, c, 2+i, true, (*testing.T).Parallel)
		}
	})
}

// on has the fault come while the program serves a new database of c.
func (f fault) on(t *testing.T, c *postgres, i int, combine bool, setUp ...func(*testing.T)) {
	t.Run(f.name+" "+combineFlag(combine), func(t *testing.T) {
		for _, set := range setUp {
			set(t)
		}
		name := c.database(t, fmt.Sprintf("city%d_%t", i, combine))
		w := newWire(t, c.Address)
		s := newSite(t, c.DSNAt(w.address(), name), c.DSN(name), combine)
		s.load.pause = thinking
		s.load.begin()
		s.load.more(t, 50, "201", "204")
		f.run(t, c, s, w)
	})
}

// away are the answers while there is no database.
const away = "503 database-unavailable"

// Seen red with: the case of pgconn.ConnectError taken out of
// postgres.meaningOfDriver (500).
func theServerIsStopped(t *testing.T, c *postgres, s *site, _ *wire) {
	rounds := served.Pick(1, 10)
	var slowest time.Duration
	t.Cleanup(func() { c.again(t) })
	for range rounds {
		c.server.Crash()
		until(t, back(), "/readyz says so", func() bool { return !s.ready() })
		s.watch(served.Pick(500*time.Millisecond, 3*time.Second), false)
		s.load.more(t, clients, away)
		c.start(t)
		slowest = max(slowest, s.returned(time.Now()))
		s.load.more(t, 50, "201", "204")
	}
	s.settle("%d stops of Postgres (SIGQUIT), back within %v", rounds, slowest)
}

func theServerIsCutOff(t *testing.T, _ *postgres, s *site, w *wire) {
	rounds, broken := served.Pick(2, 20), 0
	var slowest time.Duration
	for range rounds {
		broken += w.cut(true)
		until(t, back(), "/readyz says so", func() bool { return !s.ready() })
		s.watch(served.Pick(200*time.Millisecond, time.Second), false)
		w.cut(false)
		slowest = max(slowest, s.returned(time.Now()))
		s.load.more(t, 50, "201", "204")
	}
	s.settle("%d cuts of %d connections, new ones refused, back within %v", rounds, broken, slowest)
}

// No new connection is refused: the program needs no client to come again for
// what it can find out itself.
// Seen red with: postgres.isNetwork returning false (500).
func answersAreTorn(t *testing.T, _ *postgres, s *site, w *wire) {
	rounds, each := served.Pick(10, 200), 3
	for range rounds {
		w.set(func() { w.tear += each })
		s.load.more(t, 20, "201", "204")
	}
	w.set(func() { w.tear = 0 })
	s.returned(time.Now())
	s.settle("%d answers of the server torn in half", rounds*each)
}

// Seen red with, at full length: app.combiner.answerFailed giving each op of a
// batch a call timeout of its own (5 s where the bound is 4.5 s).
func answersAreLate(t *testing.T, _ *postgres, s *site, w *wire) {
	rounds := served.Pick(1, 6)
	delay := callTimeout() + 750*time.Millisecond
	var slowest time.Duration
	for range rounds {
		w.set(func() { w.delay = delay })
		until(t, back()+time.Second, "/readyz says so", func() bool { return !s.ready() })
		s.watch(delay+callTimeout(), false)
		s.load.more(t, clients, "503 busy", away)
		w.set(func() { w.delay = 0 })
		slowest = max(slowest, s.returned(time.Now().Add(delay/4))) // what was delayed is on its way still
		s.load.more(t, 50, "201", "204")
	}
	s.settle("%d times each answer %v late, back within %v", rounds, delay, slowest)
}

// A firewall that forgot the connections: nothing comes, and nothing says so,
// also afterwards on those. What was asked before then has to run into its
// time-out; that of a call is added to the time it takes.
// Seen red with: no connectTimeout in postgres.Open (never back: connections
// that were being made had the whole pool).
func answersAreLost(t *testing.T, _ *postgres, s *site, w *wire) {
	rounds := served.Pick(1, 6)
	var slowest time.Duration
	for range rounds {
		w.set(func() { w.deaf = true })
		until(t, back()+time.Second, "/readyz says so", func() bool { return !s.ready() })
		s.watch(2*callTimeout(), false)
		s.load.more(t, clients, "503 busy", away)
		w.set(func() { w.deaf = false })
		slowest = max(slowest, callTimeout()+s.returned(time.Now().Add(callTimeout())))
		s.load.more(t, 50, "201", "204")
	}
	s.settle("%d times no answer came any more, back within %v", rounds, slowest)
}

// Somebody else has every connection of the server.
// Seen red with: class 53 taken out of postgres.meaningOfState (500).
func noConnectionIsLeft(t *testing.T, c *postgres, s *site, w *wire) {
	rounds, taken := served.Pick(1, 10), 0
	var slowest time.Duration
	for range rounds {
		var others []*pgx.Conn
		leave := sync.OnceFunc(func() {
			for _, conn := range others {
				_ = conn.Close(context.Background()) // the server ends it in any case
			}
		})
		t.Cleanup(leave)
		w.cut(true) // the program's own are gone
		until(t, 20*time.Second, "no connection is left", func() bool {
			conn, err := pgx.Connect(short(t), c.DSN("postgres"))
			if err == nil {
				others = append(others, conn)
				return false
			}
			return len(others) >= connections && strings.Contains(err.Error(), "53300")
		})
		w.cut(false)
		until(t, back(), "/readyz says so", func() bool { return !s.ready() })
		s.watch(500*time.Millisecond, false)
		s.load.more(t, clients, away)
		taken += len(others)
		leave()
		slowest = max(slowest, s.returned(time.Now()))
		s.load.more(t, 50, "201", "204")
	}
	s.settle("%d times all connections taken, %d in all, back within %v", rounds, taken, slowest)
}

// Another program has the tables, for longer than anybody waits. Reading waits
// as well and may have every connection meanwhile, so that /readyz, which needs
// one, may say either.
// Seen red with: 55P03 taken out of postgres.meaningOf (answers after 7 s where
// the call timeout is 1 s).
func tablesAreLocked(t *testing.T, _ *postgres, s *site, _ *wire) {
	db := open(t, s.direct)
	defer db.Close()
	held := served.Pick(2*callTimeout(), time.Minute)
	for _, table := range []string{"slots", "reservations"} {
		tx, err := db.BeginTx(context.Background(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(short(t), "LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE")
		require.NoError(t, err)
		s.alive(held)
		s.load.more(t, clients, "503 busy")
		var sessions int
		require.NoError(t, db.QueryRowContext(short(t), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&sessions))
		require.LessOrEqual(t, sessions, 16, "who was told busy has left no session behind")
		require.NoError(t, tx.Rollback())
		s.returned(time.Now())
		s.load.more(t, 50, "201", "204")
	}
	s.settle("2 tables locked for %v each", held)
}
