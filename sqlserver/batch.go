package sqlserver

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"slotkeeper/app"
)

//go:embed sql/*.sql served/*.sql
var queryFiles embed.FS

var statements = loadStatements("sql")

func loadStatements(folder string) map[string]string {
	files, _ := queryFiles.ReadDir(folder) // embedded: cannot fail
	loaded := make(map[string]string, len(files))
	for _, f := range files {
		b, _ := queryFiles.ReadFile(folder + "/" + f.Name())
		loaded[strings.TrimSuffix(f.Name(), ".sql")] = string(b)
	}
	return loaded
}

// query returns the statement of sql/name.sql; an unknown name is a bug that
// the first test meets.
func query(name string) string {
	text, ok := statements[name]
	if !ok {
		panic("no statement sql/" + name + ".sql")
	}
	return text
}

// args are the parameters of a batch, by name.
type args map[string]any

func (a args) list() []any {
	list := make([]any, 0, len(a))
	for name, v := range a {
		list = append(list, sql.Named(name, v))
	}
	return list
}

// each is called once for each row of a batch's answer.
type each func(rows *sql.Rows) error

// one scans the only row of an answer.
func one(into ...any) each {
	return func(rows *sql.Rows) error { return rows.Scan(into...) }
}

// read runs a batch that changes nothing.
func (s *Store) read(ctx context.Context, name string, a args, row each) error {
	text, err := s.text(name)
	if err != nil {
		return err
	}
	return translate(s.run(ctx, text, a, row))
}

// write runs a batch that commits on the server. Whatever breaks once it was
// sent, also the caller's patience, leaves its outcome unknown.
func (s *Store) write(ctx context.Context, name string, a args, row each) error {
	text, err := s.text(name)
	if err != nil {
		return err
	}
	return outcome(s.run(ctx, text, a, row))
}

// text is a statement for the tables that this store serves. Errors:
// app.ErrUnsupported where an older program's tables have no such thing.
func (s *Store) text(name string) (string, error) {
	if s.served == nil {
		return query(name), nil
	}
	if text, ok := s.served[name]; ok {
		return text, nil
	}
	return "", fmt.Errorf("%w (%s)", app.ErrUnsupported, name)
}

// run gets a connection and runs one batch on it. A connection that turns out to
// be dead before anything was sent is thrown away and the next one tried: at
// most all that the pool may have kept, and a new one.
func (s *Store) run(ctx context.Context, text string, a args, row each) error {
	for tries := 0; ; tries++ {
		err := s.runOnce(ctx, text, a, row)
		if tries > s.pool || !errors.Is(err, driver.ErrBadConn) {
			return err
		}
	}
}

func (s *Store) runOnce(ctx context.Context, text string, a args, row each) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return notSent{err}
	}
	defer conn.Close()
	rows, err := conn.QueryContext(ctx, s.begin+text, a.list()...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return fmt.Errorf("reading an answer: %w", err)
		}
	}
	for rows.NextResultSet() { // an error behind the answer comes with the next set
	}
	return rows.Err()
}

// notSent marks what went wrong before the server was told anything.
type notSent struct{ error }

func (e notSent) Unwrap() error { return e.error }

// optional is NULL for the zero time.
func optional(t time.Time) sql.NullTime { return sql.NullTime{Time: t, Valid: !t.IsZero()} }

// utc returns the time as the app has it; NULL is the zero time.
func utc(t sql.NullTime) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return t.Time.UTC()
}

// between gives open sides the ends of the calendar, so that one plan serves all.
func between(from, to time.Time) (time.Time, time.Time) {
	if to.IsZero() {
		to = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	}
	return from, to
}

// refusals are the words by which a batch says what it did not do.
var refusals = map[string]error{
	"slot-not-found":   app.ErrSlotNotFound,
	"already-reserved": app.ErrAlreadyReserved,
	"slot-started":     app.ErrSlotStarted,
	"slot-full":        app.ErrSlotFull,
	"version-mismatch": app.ErrVersionMismatch,
	"has-reservations": app.ErrSlotHasReservations,
	"hold-expired":     app.ErrHoldExpired,
}

// refused returns the error of a batch's word; missing is what "not-found" means.
func refused(word string, missing error) error {
	if word == "" {
		return nil
	}
	if word == "not-found" {
		return missing
	}
	if err, ok := refusals[word]; ok {
		return err
	}
	return fmt.Errorf("a batch answered with the unknown word %q", word)
}
