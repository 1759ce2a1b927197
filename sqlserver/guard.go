package sqlserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

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

// GuardOptions are choices of InstallGuard.
type GuardOptions struct {
	AllowUnguardedLocks bool // as in Options
}

// InspectGuard looks whether the tables can be guarded and how they are now. It
// changes nothing. Errors: *app.ValidationError, app.ErrUnavailable.
func InspectGuard(ctx context.Context, dsn string, spec app.Guard) (report GuardReport, err error) {
	err = withGuard(ctx, dsn, func(db *sql.DB) error {
		report, err = inspect(ctx, db, spec)
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
// warnings there were. Errors: *GuardError, ErrLocksIgnored,
// *app.ValidationError, app.ErrTransient (the tables were busy),
// app.ErrUnavailable.
func InstallGuard(ctx context.Context, dsn string, spec app.Guard, o GuardOptions) (report GuardReport, err error) {
	err = withGuard(ctx, dsn, func(db *sql.DB) error {
		err := LockCheck(ctx, db)
		if err != nil && (!o.AllowUnguardedLocks || !errors.Is(err, ErrLocksIgnored)) {
			return err
		}
		if report, err = inspect(ctx, db, spec); err != nil {
			return err
		}
		if len(report.Problems) > 0 {
			return &GuardError{report.Problems}
		}
		triggers, err := guardTriggers(report.Spec)
		if err != nil {
			return err
		}
		return replaceTriggers(ctx, db, triggers, true)
	})
	return report, err
}

// RemoveGuard takes the guard off; that none is on is no error. A trigger of
// that name which is not ours stays. Errors: *GuardError, app.ErrUnavailable.
func RemoveGuard(ctx context.Context, dsn string, spec app.Guard) error {
	return withGuard(ctx, dsn, func(db *sql.DB) error {
		triggers, err := guardTriggers(spec)
		if err != nil {
			return err
		}
		for _, t := range triggers {
			found, err := installed(ctx, db, t)
			if err != nil {
				return err
			}
			if found.foreign {
				return &GuardError{[]string{nameClash(t)}}
			}
		}
		return replaceTriggers(ctx, db, triggers, false)
	})
}

func withGuard(ctx context.Context, dsn string, do func(*sql.DB) error) error {
	db, err := openPool(ctx, dsn, 4)
	if err != nil {
		return err
	}
	defer db.Close()
	return translate(do(db))
}

// replaceTriggers waits no more than some seconds for the tables' schema locks:
// while it waits, every writer waits behind it.
func replaceTriggers(ctx context.Context, db *sql.DB, triggers []guardTrigger, create bool) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	const settings = "SET XACT_ABORT ON; SET LOCK_TIMEOUT 5000; SET QUOTED_IDENTIFIER ON; SET ANSI_NULLS ON"
	if _, err := conn.ExecContext(ctx, settings); err != nil {
		return err
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit this does nothing; its error would hide the cause
	for _, t := range triggers {
		if _, err := tx.ExecContext(ctx, "DROP TRIGGER IF EXISTS "+t.quoted()); err != nil {
			return fmt.Errorf("dropping trigger %s: %w", t.quoted(), err)
		}
		if !create {
			continue
		}
		if _, err := tx.ExecContext(ctx, t.text); err != nil {
			return fmt.Errorf("creating trigger %s: %w", t.quoted(), err)
		}
	}
	return tx.Commit()
}
