// Package sqlite keeps the promise in one file, for a clinic that runs one
// machine: triggers and a CHECK judge every writer, and this adapter writes
// through one connection in immediate transactions while readers go on.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"slotkeeper/app"
)

// Options of Open; zero values get the defaults named.
type Options struct {
	Readers     int           // connections that read, 4
	CallTimeout time.Duration // of the app's calls; another process's lock is waited for half of it, 5 s
}

// Store is an app.Store and app.Batcher over one file.
type Store struct {
	writer  *sql.DB // one connection: SQLite has one write lock anyway
	readers *sql.DB
	batch   prepared
}

var (
	_ app.Store   = (*Store)(nil)
	_ app.Batcher = (*Store)(nil)
)

//go:embed sql/*.sql
var queryFiles embed.FS

// Open opens the file at path, whose schema Migrations keeps. Errors:
// app.ErrUnavailable.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	if o.CallTimeout <= 0 {
		o.CallTimeout = 5 * time.Second
	}
	if o.Readers <= 0 {
		o.Readers = 4
	}
	s := &Store{}
	var err error
	// What is written goes all over the indexes: 8 MiB of them stay in memory.
	if s.writer, err = connect(ctx, path, 1, "immediate", o.CallTimeout/2, "cache_size(-8192)"); err != nil {
		return nil, err
	}
	if s.readers, err = connect(ctx, path, o.Readers, "deferred", o.CallTimeout/2); err != nil {
		s.writer.Close()
		return nil, err
	}
	return s, nil
}

// connect opens a pool. FULL: what is answered is on the disk. Temporary
// results stay in memory, so that a full or read-only /tmp cannot fail a call.
// The log has 32 MiB (8192 pages) before it is moved into the file, so that a
// page that is written again and again meanwhile is moved once.
func connect(ctx context.Context, path string, n int, lock string, wait time.Duration, more ...string) (*sql.DB, error) {
	pragmas := url.Values{"_txlock": {lock}, "_pragma": append([]string{
		fmt.Sprintf("busy_timeout(%d)", max(1, wait.Milliseconds())),
		"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "temp_store(MEMORY)",
		"wal_autocheckpoint(8192)",
	}, more...)}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: escapePath(path), RawQuery: pragmas.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", app.ErrUnavailable, err)
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	if err := ping(ctx, db, wait); err != nil {
		db.Close()
		return nil, fmt.Errorf("%w: %w", app.ErrUnavailable, err)
	}
	return db, nil
}

// ping opens the first connection. Of processes that turn a new file to
// write-ahead logging at once some are told "busy" whatever their time-out, so
// it tries for as long as it would wait for a lock.
func ping(ctx context.Context, db *sql.DB, wait time.Duration) error {
	for end := time.Now().Add(wait); ; time.Sleep(10 * time.Millisecond) {
		err := db.PingContext(ctx)
		if err == nil || !errors.Is(translate(err), app.ErrTransient) || time.Now().After(end) {
			return err
		}
	}
}

// escapePath keeps a '?', '#' or '%' of a file's name out of the URI's syntax.
func escapePath(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
}

// Close implements app.Store. The last connection to the file moves the
// write-ahead log into it.
func (s *Store) Close() error {
	return errors.Join(s.readers.Close(), s.writer.Close())
}

// querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// tx runs work in one immediate transaction; it has the write lock from its
// start, so what it reads stays true. work's error rolls back.
func (s *Store) tx(ctx context.Context, work func(tx *sql.Tx) error) error {
	return inTx(ctx, s.writer, work)
}

// snapshot runs work, which reads only, in one view of the database.
func (s *Store) snapshot(ctx context.Context, work func(tx *sql.Tx) error) error {
	return inTx(ctx, s.readers, work)
}

func inTx(ctx context.Context, db *sql.DB, work func(tx *sql.Tx) error) error {
	asked := time.Now()
	tx, err := db.BeginTx(ctx, nil)
	app.LockWaited(ctx, asked) // a writer has the file's lock, once it has begun
	if err != nil {
		return translate(err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit this does nothing; its error would hide the cause
	if err := work(tx); err != nil {
		return translate(err)
	}
	return translate(tx.Commit())
}

// list is v as the JSON text that json_each takes; ids, keys and tuples of
// them always have one.
func list(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// rowOr returns the missing error where a query found nothing.
func rowOr(err, missing error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return missing
	}
	return translate(err)
}

// each scans every row of a query into dest and calls f after each.
func each(ctx context.Context, q querier, query string, args, dest []any, f func()) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		f()
	}
	return rows.Err()
}

// micros is a column that holds microseconds since 1970 or NULL.
type micros sql.NullInt64

func (m *micros) Scan(v any) error { return (*sql.NullInt64)(m).Scan(v) }

// time returns the instant in UTC, the zero time for NULL.
func (m micros) time() time.Time {
	if !m.Valid {
		return time.Time{}
	}
	return time.UnixMicro(m.Int64).UTC()
}
