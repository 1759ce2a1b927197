// Package postgres keeps the promise on Postgres 13 and newer: a counter under
// a CHECK, kept by triggers, judges capacity, exclusion constraints judge
// ranges, and this adapter adds the lock order that makes it fast and the
// translation of the server's refusals. See docs/decisions.
package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"slotkeeper/app"
)

// Strategies for capacity; both keep it, see docs/decisions.
const (
	ForUpdate    = "for-update"   // lock the slot's row, then decide
	Serializable = "serializable" // decide, and start again where another was first
)

// Options of Open; zero values get the defaults named.
type Options struct {
	Strategy    string        // ForUpdate
	PoolSize    int           // connections, 16
	CallTimeout time.Duration // of the app's calls; locks are given up at half of it, 5 s
}

// Bounds of what the pool does by itself, beside any call: a server that takes
// a connection and never answers, or a firewall that forgot one, must not keep
// the pool's places for longer. A connect_timeout of the DSN goes first.
const (
	connectTimeout = 2 * time.Second
	pingTimeout    = time.Second
)

// Store is an app.Store and app.Batcher over a pool of connections.
type Store struct {
	pool     *pgxpool.Pool
	begin    string // opens a writing transaction
	session  bool   // its settings go with each transaction
	locking  bool   // lock slots before deciding (ForUpdate)
	lockWait string // lock_timeout, as Postgres writes it
	patience time.Duration
}

var (
	_ app.Store   = (*Store)(nil)
	_ app.Batcher = (*Store)(nil)
)

//go:embed sql/*.sql
var queryFiles embed.FS

// Open connects to the database of a postgres:// DSN, whose schema Migrations
// keeps. Behind a PgBouncer in transaction mode add
// default_query_exec_mode=exec to the DSN. Errors: app.ErrUnavailable.
func Open(ctx context.Context, dsn string, o Options) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, errDSN
	}
	if o.Strategy == "" {
		o.Strategy = ForUpdate
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = 5 * time.Second
	}
	if cfg.ConnConfig.ConnectTimeout <= 0 {
		cfg.ConnConfig.ConnectTimeout = connectTimeout // pgx waits 2 minutes
	}
	if cfg.PingTimeout <= 0 {
		cfg.PingTimeout = pingTimeout
	}
	cfg.MaxConns = 16
	if o.PoolSize > 0 {
		cfg.MaxConns = int32(o.PoolSize)
	}
	s := &Store{patience: o.CallTimeout, lockWait: fmt.Sprintf("%dms", max(1, o.CallTimeout.Milliseconds()/2))}
	switch o.Strategy {
	case ForUpdate:
		s.begin, s.locking = "BEGIN ISOLATION LEVEL READ COMMITTED", true
	case Serializable:
		s.begin = "BEGIN ISOLATION LEVEL SERIALIZABLE"
	default:
		return nil, fmt.Errorf("unknown strategy %q: use %s or %s", o.Strategy, ForUpdate, Serializable)
	}
	s.session = !s.settle(cfg.ConnConfig)
	if s.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, translate(err)
	}
	if err := s.pool.Ping(ctx); err != nil {
		s.pool.Close()
		return nil, fmt.Errorf("%w: %w", app.ErrUnavailable, err)
	}
	return s, nil
}

// settle has each connection begin with the bounds and the planning that its
// statements want: one good plan each, where the server would else plan those
// over arrays anew each time, which costs more than running them. A pooler that
// shares connections takes no such settings; the way of execution tells of it.
func (s *Store) settle(cfg *pgx.ConnConfig) bool {
	switch cfg.DefaultQueryExecMode {
	case pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec:
		cfg.RuntimeParams["lock_timeout"] = s.lockWait
		cfg.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
		return true
	}
	return false
}

// Close waits for the connections in use.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}

// tx runs work in one writing transaction of the strategy's level. work's
// error rolls back; the commit's own error may be app.ErrOutcomeUnknown.
func (s *Store) tx(ctx context.Context, work func(tx pgx.Tx) error) error {
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{BeginQuery: s.begin})
	if err != nil {
		return translate(err)
	}
	// After a commit this does nothing; its error would hide the cause.
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if s.session {
		if _, err := tx.Exec(ctx, query("session"), s.lockWait); err != nil {
			return translate(err)
		}
	}
	if err := work(tx); err != nil {
		return translate(err)
	}
	ctx, cancel := s.finishing(ctx)
	defer cancel()
	if err := tx.Commit(ctx); err != nil {
		return afterCommit(err)
	}
	return nil
}

// finishing is the context of a commit: a client that leaves now must not cut
// the connection and leave the outcome unknown. It stays within the time of the
// call, except that a commit which begins late has a fifth of that more.
func (s *Store) finishing(ctx context.Context) (context.Context, context.CancelFunc) {
	end := time.Now().Add(s.patience / 5)
	if call, ok := ctx.Deadline(); !ok {
		end = time.Now().Add(s.patience)
	} else if call.After(end) {
		end = call
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}

// rowOr returns the missing error where a query found nothing.
func rowOr(err, missing error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return missing
	}
	return translate(err)
}

func isNetwork(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
