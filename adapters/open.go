// Package adapters opens the engine that a DSN names and moves its schema, so
// that nothing else has to know which engines there are. It is also where a
// DSN's secrets are kept out of what people and logs read.
package adapters

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"slotkeeper/app"
	"slotkeeper/postgres"
	"slotkeeper/sqlite"
	"slotkeeper/sqlserver"
)

// Options of Open; zero values get the defaults named.
type Options struct {
	Strategy    string        // how Postgres keeps capacity: for-update or serializable; for-update
	Ranges      string        // how SQL Server keeps ranges: trigger or nights; trigger
	PoolSize    int           // connections; 16, of SQLite 4 that read beside one that writes
	CallTimeout time.Duration // of the app's calls; the database gives a lock up before it; 5 s
	Logger      *slog.Logger  // slog.Default()

	// Tables serves an older program's tables on SQL Server instead of our own;
	// nil serves our own. They have no migrations.
	Tables *Tables

	// AllowUnguardedLocks opens a SQL Server that ignores lock hints all the
	// same, see the package sqlserver.
	AllowUnguardedLocks bool
}

// MinPool is the fewest connections that leave one for reads and readiness.
const MinPool = 2

// Validate says in a sentence what is wrong with a DSN and its options, before
// anything is opened.
func Validate(dsn string, o Options) error {
	engine, err := EngineOf(dsn)
	if err != nil {
		return err
	}
	if engine == SQLite {
		if _, err := sqlitePath(dsn); err != nil {
			return err
		}
	}
	if err := choice(engine, Postgres, "strategy", o.Strategy, postgres.ForUpdate, postgres.Serializable); err != nil {
		return err
	}
	if err := choice(engine, SQLServer, "ranges", o.Ranges, sqlserver.ByTrigger, sqlserver.ByNights); err != nil {
		return err
	}
	if err := validateTables(engine, o); err != nil {
		return err
	}
	if o.AllowUnguardedLocks && engine != SQLServer {
		return fmt.Errorf("--allow-unguarded-locks is for sqlserver alone: leave it out with %s", engine)
	}
	if o.PoolSize != 0 && o.PoolSize < MinPool {
		return fmt.Errorf("the pool size %d is too small: use at least %d, so that a connection is left for reads", o.PoolSize, MinPool)
	}
	return nil
}

// choice refuses an option of one engine with another, or a value it lacks.
func choice(engine, of Engine, flag, value string, known ...string) error {
	switch {
	case value == "":
		return nil
	case engine != of:
		return fmt.Errorf("--%s is for %s alone: leave it out with %s", flag, of, engine)
	case !slices.Contains(known, value):
		return fmt.Errorf("--%s is %q: use %s", flag, value, strings.Join(known, " or "))
	}
	return nil
}

// Open connects to the database of a DSN; Up makes its schema. Errors:
// sentences without secrets, app.ErrUnavailable.
func Open(ctx context.Context, dsn string, o Options) (app.Store, error) {
	if err := Validate(dsn, o); err != nil {
		return nil, err
	}
	store, err := open(ctx, dsn, o)
	if err != nil {
		return nil, cannotOpen(dsn, err)
	}
	return store, nil
}

func open(ctx context.Context, dsn string, o Options) (app.Store, error) {
	engine, err := EngineOf(dsn)
	switch {
	case err != nil:
		return nil, err
	case engine == Postgres:
		return storeOf(postgres.Open(ctx, dsn, postgres.Options{
			Strategy: o.Strategy, PoolSize: o.PoolSize, CallTimeout: o.CallTimeout}))
	case engine == SQLServer:
		return storeOf(sqlserver.Open(ctx, dsn, sqlserver.Options{
			Ranges: o.Ranges, PoolSize: o.PoolSize, CallTimeout: o.CallTimeout,
			Tables: o.Tables.served(), Logger: o.Logger, AllowUnguardedLocks: o.AllowUnguardedLocks}))
	default:
		path, err := sqlitePath(dsn)
		if err != nil {
			return nil, err
		}
		return storeOf(sqlite.Open(ctx, path, sqlite.Options{
			Readers: o.PoolSize, CallTimeout: o.CallTimeout}))
	}
}

// storeOf keeps an engine's nil pointer from becoming a Store that is not nil.
func storeOf[S app.Store](s S, err error) (app.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// cannotOpen says which database it was, and never its secrets.
func cannotOpen(dsn string, err error) error {
	err = NewScrubber(dsn).Error(err)
	if errors.Is(err, app.ErrUnavailable) {
		return fmt.Errorf("cannot reach %s; start it or correct --db: %w", Redact(dsn), err)
	}
	return fmt.Errorf("cannot open %s: %w", Redact(dsn), err)
}

// Bounds returns how many transactions may write at once, in all and for one
// slot, so that a crowd before one slot leaves connections for the other slots,
// for reads and for readiness. pool is as in Options. What waits is written
// together by one worker, which together with the one that looks at full slots
// takes two connections more; combine says whether they are there.
func Bounds(dsn string, pool int, combine bool) (writers, perSlot int) {
	engine, err := EngineOf(dsn)
	if err != nil || engine == SQLite {
		return 1, 1 // its writer is a connection apart from those that read
	}
	if pool <= 0 {
		pool = 16
	}
	writers = pool - 2
	if combine {
		// Those that wait for a slot locked elsewhere and those that write
		// alone are bounded each by writers.
		writers = (pool - 4) / 2
	}
	writers = max(1, writers)
	return writers, max(1, min(2, writers/2))
}
