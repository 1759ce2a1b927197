package sqlserver

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"

	mssql "github.com/microsoft/go-mssqldb"
)

// ErrLocksIgnored: the server takes UPDLOCK and HOLDLOCK for comments, or it
// could not be found out that it does not. Triggers then judge too little.
var ErrLocksIgnored = errors.New("the database does not keep the locks that it is asked for")

const lockRefused = 1222 // lock request time-out

// LockCheck asks whether the server keeps the locks that every promise of this
// package rests on: one connection locks a row and a range, and a second one
// must be refused both. It needs two connections of db and no right beyond a
// login: its table is a temporary one, and is gone afterwards, come what may.
// Errors: ErrLocksIgnored, app.ErrUnavailable.
func LockCheck(ctx context.Context, db *sql.DB) error {
	holder, err := db.Conn(ctx)
	if err != nil {
		return translate(err)
	}
	defer holder.Close()
	other, err := db.Conn(ctx)
	if err != nil {
		return translate(err)
	}
	defer other.Close()
	table, drop, err := lockTable(ctx, holder)
	if err != nil {
		return err
	}
	defer drop()
	return errors.Join(
		refusesSecond(ctx, holder, other, "a row",
			"SELECT id FROM "+table+" WITH (UPDLOCK, HOLDLOCK) WHERE id = 10",
			"SELECT id FROM "+table+" WITH (UPDLOCK, HOLDLOCK) WHERE id = 10"),
		refusesSecond(ctx, holder, other, "a range",
			"SELECT COUNT(*) FROM "+table+" WITH (UPDLOCK, HOLDLOCK) WHERE id BETWEEN 12 AND 18",
			"INSERT INTO "+table+" (id) VALUES (15)"),
	)
}

// lockTable makes a table that two connections see, with the rows 10 and 20. A
// server without global temporary tables gets a plain one.
func lockTable(ctx context.Context, conn *sql.Conn) (name string, drop func(), err error) {
	suffix := rand.Text()
	var refusals []error
	for _, name := range []string{"##slotkeeper_lock_check_" + suffix, "slotkeeper_lock_check_" + suffix} {
		_, err := conn.ExecContext(ctx, "CREATE TABLE "+name+" (id INT NOT NULL PRIMARY KEY)")
		if err == nil {
			drop := func() { _, _ = conn.ExecContext(context.WithoutCancel(ctx), "DROP TABLE "+name) }
			if _, err = conn.ExecContext(ctx, "INSERT INTO "+name+" (id) VALUES (10), (20)"); err == nil {
				return name, drop, nil
			}
			drop()
		}
		if isBroken(err) || ctx.Err() != nil {
			return "", nil, translate(err)
		}
		refusals = append(refusals, err)
	}
	return "", nil, fmt.Errorf("%w: that could not be tried, since no table could be created for it: %w", ErrLocksIgnored, errors.Join(refusals...))
}

// refusesSecond takes a lock with one connection and has the second try for the
// same without waiting.
func refusesSecond(ctx context.Context, holder, other *sql.Conn, what, lock, try string) error {
	const level = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; "
	end := context.WithoutCancel(ctx) // the locks go, whatever the caller does
	defer func() { _, _ = holder.ExecContext(end, "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION") }()
	if _, err := holder.ExecContext(ctx, level+"BEGIN TRANSACTION; "+lock); err != nil {
		return translate(err)
	}
	defer func() { _, _ = other.ExecContext(end, "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; SET LOCK_TIMEOUT -1") }()
	_, err := other.ExecContext(ctx, level+"SET LOCK_TIMEOUT 0; BEGIN TRANSACTION; "+try)
	var server mssql.Error
	switch {
	case err == nil:
		return fmt.Errorf("%w: a second connection got %s that the first had locked with UPDLOCK, HOLDLOCK", ErrLocksIgnored, what)
	case errors.As(err, &server) && server.Number == lockRefused:
		return nil
	}
	return translate(err)
}
