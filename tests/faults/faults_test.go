package faults

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"slotkeeper/adapters"
	"slotkeeper/app"
	"slotkeeper/postgres"
	"slotkeeper/tests/engines"
)

func TestMain(m *testing.M) { os.Exit(engines.Main(m)) }

const (
	poolSize = 8
	proxied  = "faults" // the application name of what goes through the proxy
)

// city is a database with the proxy before it and a way around the proxy.
type city struct {
	t      *testing.T
	dsn    string // through the proxy
	proxy  *proxy
	direct *pgxpool.Pool // for other programs
	books  *postgres.Store
}

// replica is one service with its own pool, as a process has.
type replica struct {
	*app.Service
	store    *postgres.Store
	seen     *observer
	combined bool
}

// observer counts what a Service tells.
type observer struct{ retried, unknown, waiting atomic.Int64 }

func (o *observer) Judged(app.Action, app.Reservation, error) {}
func (o *observer) Waited(time.Duration)                      {}
func (o *observer) Batch(int)                                 {}
func (o *observer) Waiting(d int)                             { o.waiting.Add(int64(d)) }
func (o *observer) Swept(int)                                 {}

func (o *observer) Retried(why app.Reason) {
	o.retried.Add(1)
	if why == app.ReasonOutcomeUnknown {
		o.unknown.Add(1)
	}
}

func newCity(t *testing.T) *city {
	address, err := url.Parse(engines.Postgres(t))
	require.NoError(t, err)
	p, end, err := postgres.Migrations(t.Context(), address.String())
	require.NoError(t, err)
	_, err = p.Up(t.Context())
	require.NoError(t, err)
	end()
	c := &city{t: t}
	c.direct, err = pgxpool.New(t.Context(), address.String())
	require.NoError(t, err)
	t.Cleanup(c.direct.Close)
	c.books, err = postgres.Open(t.Context(), address.String(), postgres.Options{PoolSize: 2})
	require.NoError(t, err)
	t.Cleanup(func() { c.books.Close() })
	c.proxy, err = newProxy(address.Host)
	require.NoError(t, err)
	t.Cleanup(c.proxy.close)
	address.Host = c.proxy.address()
	values := address.Query()
	values.Set("sslmode", "disable") // the proxy reads along
	values.Set("application_name", proxied)
	address.RawQuery = values.Encode()
	c.dsn = address.String()
	return c
}

// open starts a replica with the bounds that the program would give it.
func (c *city) open(cfg app.Config) replica {
	c.t.Helper()
	if cfg.CallTimeout == 0 {
		cfg.CallTimeout = 30 * time.Second // a slow machine is not what is tested
	}
	store, err := postgres.Open(c.t.Context(), c.dsn, postgres.Options{PoolSize: poolSize, CallTimeout: cfg.CallTimeout})
	require.NoError(c.t, err)
	c.t.Cleanup(func() { store.Close() })
	seen := &observer{}
	cfg.Observer = seen
	cfg.Writers, cfg.PerSlot = adapters.Bounds(c.dsn, poolSize, cfg.Combine)
	service := app.NewService(store, cfg)
	c.t.Cleanup(service.Close)
	return replica{service, store, seen, cfg.Combine}
}

// bothWays runs f with a replica that writes requests together, and with one
// that writes them one by one, on the database of c.
func (c *city) bothWays(t *testing.T, cfg app.Config, f func(t *testing.T, c *city, r replica)) {
	for name, combine := range map[string]bool{"combined": true, "one by one": false} {
		t.Run(name, func(t *testing.T) {
			cfg.Combine = combine
			c := c.in(t)
			f(t, c, c.open(cfg))
		})
	}
}

// in is c for a subtest.
func (c *city) in(t *testing.T) *city {
	sub := *c
	sub.t = t
	return &sub
}

// at is a moment some minutes into a morning that lies ahead.
func at(minutes int) time.Time {
	return time.Date(2096, 5, 2, 9, minutes, 0, 0, time.UTC)
}

// slots makes n slots around the proxy.
func (c *city) slots(n, capacity int) []int64 {
	c.t.Helper()
	ids := make([]int64, n)
	for i := range ids {
		slot, _, err := c.books.CreateSlot(context.Background(), app.NewSlot{StartsAt: at(0), EndsAt: at(30), Capacity: capacity})
		require.NoError(c.t, err)
		ids[i] = slot.ID
	}
	return ids
}

func (c *city) slot(capacity int) int64 { return c.slots(1, capacity)[0] }

// run is another program's statement.
func (c *city) run(sql string, args ...any) {
	c.t.Helper()
	_, err := c.direct.Exec(context.Background(), sql, args...)
	require.NoError(c.t, err)
}

// number is the answer to a question around the proxy.
func (c *city) number(sql string, args ...any) int {
	c.t.Helper()
	var n int
	require.NoError(c.t, c.direct.QueryRow(context.Background(), sql, args...).Scan(&n))
	return n
}

// users has who holds a live row of the slot, in order of their rows.
func (c *city) users(slotID int64) string {
	c.t.Helper()
	var all string
	require.NoError(c.t, c.direct.QueryRow(context.Background(),
		`SELECT coalesce(string_agg(user_id, ' ' ORDER BY id), '') FROM reservations
		 WHERE slot_id = $1 AND status IN ('held', 'confirmed')`, slotID).Scan(&all))
	return all
}

// sound: the counters are the counts, no session is left in a transaction, and
// more requests at once than the pool has connections are answered.
func (c *city) sound(r replica) {
	c.t.Helper()
	faults, err := c.books.Check(context.Background())
	require.NoError(c.t, err)
	require.Empty(c.t, faults)
	for _, err := range atOnce(2*poolSize, func(int) error { _, err := r.Slots(context.Background(), app.SlotQuery{}); return err }) {
		require.NoError(c.t, err)
	}
	c.ended()
	require.Zero(c.t, r.seen.waiting.Load(), "what waits is counted up and down")
}

// ended waits until no session is in a transaction.
func (c *city) ended() {
	c.t.Helper()
	c.until("every transaction has ended", func() bool {
		return c.number(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND pid <> pg_backend_pid() AND xact_start IS NOT NULL AND backend_type = 'client backend'`) == 0
	})
}

// until polls for what has no event to wait for: the server's own state.
func (c *city) until(what string, reached func() bool) {
	c.t.Helper()
	for end := time.Now().Add(30 * time.Second); !reached(); time.Sleep(2 * time.Millisecond) {
		require.True(c.t, time.Now().Before(end), "not in time: %s", what)
	}
}

// lock is another program that holds the row of a slot until release.
func (c *city) lock(slotID int64) (release func()) {
	c.t.Helper()
	tx, err := c.direct.Begin(context.Background())
	require.NoError(c.t, err)
	_, err = tx.Exec(context.Background(), "SELECT FROM slots WHERE id = $1 FOR UPDATE", slotID)
	require.NoError(c.t, err)
	var once sync.Once
	release = func() { once.Do(func() { require.NoError(c.t, tx.Rollback(context.Background())) }) }
	c.t.Cleanup(release)
	return release
}

// blocked is how many sessions wait for a lock.
func (c *city) blocked() int {
	return c.number(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
}

func reserve(r replica, slotID int64, user string) error {
	_, err := r.Reserve(context.Background(), app.NewReservation{SlotID: slotID, UserID: user})
	return err
}

func user(i int) string { return fmt.Sprintf("user%03d", i) }

// atOnce runs f(0) to f(n-1), started together, and returns their errors.
func atOnce(n int, f func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	done.Wait()
	return errs
}

// later runs f and hands its error over when it has ended.
func later(f func() error) <-chan error {
	answer := make(chan error, 1)
	go func() { answer <- f() }()
	return answer
}

// count counts errors by which of allowed they are, nil being a success; any
// other, or one that still says what only the app may know, fails the test.
func count(t *testing.T, errs []error, allowed ...error) map[error]int {
	t.Helper()
	n := map[error]int{}
next:
	for i, err := range errs {
		for _, want := range append(allowed, nil) {
			if errors.Is(err, want) {
				n[want]++
				continue next
			}
		}
		require.NoError(t, err, "number %d", i)
	}
	return n
}

func isCommit(sql string) bool { return strings.EqualFold(strings.TrimSpace(sql), "commit") }
