// Package sqlserver keeps the promise on SQL Server 2019 and newer and on Azure
// SQL: triggers judge capacity and ranges under UPDLOCK and HOLDLOCK, whichever
// program writes, and this adapter adds the lock order that makes it free of
// deadlocks and the translation of the server's refusals. The same triggers can
// be put on an older program's tables, see GenerateGuard.
package sqlserver

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"slotkeeper/app"
)

// Strategies for ranges, see docs/sqlserver-dba.md. The trigger judges in both.
const (
	ByTrigger = "trigger" // any range
	ByNights  = "nights"  // whole days in UTC: one row a night under a unique index
)

// Options of Open; zero values get the defaults named.
type Options struct {
	Ranges      string        // ByTrigger
	PoolSize    int           // connections, 16; at least 2
	CallTimeout time.Duration // of the app's calls; locks are given up at half of it, 5 s
	Tables      *Tables       // serve an older program's tables; nil serves our own
	Logger      *slog.Logger  // slog.Default()

	// AllowUnguardedLocks opens a server that ignores lock hints (or on which
	// that cannot be found out) all the same. Simultaneous writers can then
	// overbook: for trying things out, never for patients.
	AllowUnguardedLocks bool
}

// Store is an app.Store over a pool of connections. Every method that writes is
// one batch that begins, decides and commits on the server: one round trip.
type Store struct {
	db     *sql.DB
	pool   int
	begin  string // what stands before each batch
	nights bool
	served map[string]string // statements for o.Tables; nil for our own
}

var _ app.Store = (*Store)(nil)

// errDSN does not repeat the DSN, which holds a password.
var errDSN = errors.New("the DSN is not one of SQL Server: sqlserver://user:password@host:1433?database=name")

// Open connects to the database of a sqlserver:// DSN, whose schema Migrations
// keeps, and makes sure that the server keeps the locks that it is asked for.
// With o.Tables it serves an older program's tables instead, which must be
// guarded. Errors: app.ErrUnavailable, ErrLocksIgnored, *GuardError.
func Open(ctx context.Context, dsn string, o Options) (*Store, error) {
	o = o.withDefaults()
	if o.Ranges != ByTrigger && o.Ranges != ByNights {
		return nil, fmt.Errorf("unknown strategy for ranges %q: use %s or %s", o.Ranges, ByTrigger, ByNights)
	}
	db, err := openGuarded(ctx, dsn, o)
	if err != nil {
		return nil, err
	}
	s := newStore(db, o)
	if o.Tables == nil {
		return s, nil
	}
	if s.served, err = tableTexts(ctx, db, *o.Tables); err != nil {
		db.Close()
		return nil, translate(err)
	}
	return s, nil
}

func newStore(db *sql.DB, o Options) *Store {
	return &Store{db: db, pool: o.PoolSize, nights: o.Ranges == ByNights,
		begin: fmt.Sprintf("%sSET LOCK_TIMEOUT %d;\n", query("session"), max(1, o.CallTimeout.Milliseconds()/2))}
}

func (o Options) withDefaults() Options {
	if o.Ranges == "" {
		o.Ranges = ByTrigger
	}
	if o.PoolSize <= 0 {
		o.PoolSize = 16
	}
	o.PoolSize = max(2, o.PoolSize) // LockCheck needs two at once
	if o.CallTimeout <= 0 {
		o.CallTimeout = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// openGuarded opens a pool whose server was seen to keep its locks.
func openGuarded(ctx context.Context, dsn string, o Options) (*sql.DB, error) {
	db, err := openPool(ctx, dsn, o.PoolSize)
	if err != nil {
		return nil, err
	}
	err = LockCheck(ctx, db)
	switch {
	case err == nil:
		o.Logger.InfoContext(ctx, "the database keeps row and range locks")
	case errors.Is(err, ErrLocksIgnored) && o.AllowUnguardedLocks:
		o.Logger.WarnContext(ctx, "the database does not keep the locks that capacity rests on; going on as told", "error", err)
	default:
		db.Close()
		return nil, err
	}
	return db, nil
}

func openPool(ctx context.Context, dsn string, size int) (*sql.DB, error) {
	inner, err := mssql.NewConnector(dsn)
	if err != nil {
		return nil, errDSN
	}
	db := sql.OpenDB(connector{inner})
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	db.SetConnMaxIdleTime(5 * time.Minute) // below what firewalls and Azure's gateway forget
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		return nil, fmt.Errorf("%w: %w", app.ErrUnavailable, err)
	}
	return db, nil
}

// connector marks what went wrong before a connection existed: nothing can have
// been written then.
type connector struct{ driver.Connector }

type connectError struct{ error }

func (e connectError) Unwrap() error { return e.error }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, connectError{err}
	}
	return conn, nil
}

// Close waits for the connections in use.
func (s *Store) Close() error { return s.db.Close() }

// Ready implements app.Store.
func (s *Store) Ready(ctx context.Context) error {
	var version int64
	if err := s.read(ctx, "schema_version", nil, one(&version)); err != nil {
		return fmt.Errorf("%w: %w", app.ErrUnavailable, err)
	}
	if s.served == nil && version != latest() {
		return fmt.Errorf("%w: the schema has version %d and this program needs %d", app.ErrUnavailable, version, latest())
	}
	return nil
}
