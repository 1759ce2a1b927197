package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"slotkeeper/app"
)

// GuardReport is what a look at the database found.
type GuardReport struct {
	Spec        app.Guard // with KeyType filled in
	Problems    []string  // sentences that say why the guard cannot be put on; none if it can
	Warnings    []string  // sentences for whoever decides
	Installed   bool      // a trigger of this guard is there
	Differences []string  // how what is there differs from what would be generated; none if it does not
}

// GuardError refuses to put a guard on.
type GuardError struct {
	Problems []string // at least one
}

func (e *GuardError) Error() string {
	return "the guard cannot be put on: " + strings.Join(e.Problems, "; ")
}

// InspectGuard looks whether the tables can be guarded and how they are now. It
// changes nothing. Errors: *app.ValidationError, app.ErrUnavailable.
func InspectGuard(ctx context.Context, dsn string, spec app.Guard) (report GuardReport, err error) {
	err = withGuard(ctx, dsn, func(conn *pgx.Conn) error {
		report, err = inspect(ctx, conn, spec)
		return err
	})
	return report, err
}

// VerifyGuard is InspectGuard for who wants to know whether what is installed
// is what GenerateGuard would make: Installed is true then and Differences has
// none.
func VerifyGuard(ctx context.Context, dsn string, spec app.Guard) (GuardReport, error) {
	return InspectGuard(ctx, dsn, spec)
}

// InstallGuard puts the guard on, or anew, in one transaction, and says what
// warnings there were. Errors: *GuardError, *app.ValidationError,
// app.ErrTransient (the tables were busy), app.ErrUnavailable.
func InstallGuard(ctx context.Context, dsn string, spec app.Guard) (report GuardReport, err error) {
	err = withGuard(ctx, dsn, func(conn *pgx.Conn) error {
		if report, err = inspect(ctx, conn, spec); err != nil {
			return err
		}
		if len(report.Problems) > 0 {
			return &GuardError{report.Problems}
		}
		objects, err := guardObjectsOf(report.Spec)
		if err != nil {
			return err
		}
		return runScript(ctx, conn, objects.script(true))
	})
	return report, err
}

// RemoveGuard takes the guard off; that none is on is no error. What has one of
// its names and is not ours stays. Errors: *GuardError, app.ErrTransient,
// app.ErrUnavailable.
func RemoveGuard(ctx context.Context, dsn string, spec app.Guard) error {
	return withGuard(ctx, dsn, func(conn *pgx.Conn) error {
		spec.KeyType = ""
		objects, err := guardObjectsOf(spec)
		if err != nil {
			return err
		}
		var report GuardReport
		err = looking(ctx, conn, func(tx pgx.Tx) error {
			g := inspection{ctx: ctx, tx: tx, report: &report}
			g.state(objects)
			return g.err
		})
		if err != nil {
			return err
		}
		if len(report.Problems) > 0 {
			return &GuardError{report.Problems}
		}
		return runScript(ctx, conn, objects.script(false))
	})
}

func withGuard(ctx context.Context, dsn string, do func(*pgx.Conn) error) error {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return errDSN
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("%w: %w", app.ErrUnavailable, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // whatever is open rolls back
	return translate(do(conn))
}

// looking runs do where names mean what the catalogue says and nothing is written.
func looking(ctx context.Context, conn *pgx.Conn, do func(pgx.Tx) error) error {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // nothing was written
	if _, err := tx.Exec(ctx, "SET LOCAL search_path TO pg_catalog, pg_temp"); err != nil {
		return err
	}
	return do(tx)
}

// tries bounds how often a script asks busy tables again, each time for the
// half second of its lock_timeout, so that writers get through in between.
const (
	tries     = 10
	betweenIt = 500 * time.Millisecond
)

// runScript runs a whole script as one transaction, its own.
func runScript(ctx context.Context, conn *pgx.Conn, script string) (err error) {
	for range tries {
		_, err = conn.PgConn().Exec(ctx, script).ReadAll()
		if err == nil || !isBusy(err) {
			break
		}
		if _, after := conn.Exec(ctx, "ROLLBACK"); after != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(betweenIt):
		}
	}
	if isBusy(err) {
		return fmt.Errorf("the tables are busy, nothing was changed: try again when no long transaction uses them: %w", err)
	}
	return notAllowed(err)
}

func isBusy(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "55P03" || pg.Code == "40P01")
}

// notAllowed makes a refused right a sentence.
func notAllowed(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42501" {
		return &GuardError{[]string{"this login lacks a right, log in as the owner of the tables: " + pg.Message}}
	}
	return err
}
