package adapters

import (
	"context"
	"errors"
	"fmt"

	"slotkeeper/app"
	"slotkeeper/sqlserver"
)

// GuardReport is what a look at an older program's tables found.
type GuardReport struct {
	Spec        app.Guard // with KeyType filled in
	Problems    []string  // sentences that say why the guard cannot be put on; none if it can
	Warnings    []string  // sentences for whoever decides
	Installed   bool      // a trigger of this guard is there
	Differences []string  // how what is there differs from what would be made; none if it does not
}

// GuardScript returns the T-SQL that puts a guard on, without asking a database.
// Errors: *app.ValidationError, or a sentence.
func GuardScript(spec app.Guard) (string, error) { return sqlserver.GenerateGuard(spec) }

// InspectGuard looks whether tables can be guarded and how they are now; it
// changes nothing. Errors: *app.ValidationError, app.ErrUnavailable.
func InspectGuard(ctx context.Context, dsn string, spec app.Guard) (GuardReport, error) {
	if err := canGuard(dsn); err != nil {
		return GuardReport{}, err
	}
	report, err := sqlserver.InspectGuard(ctx, dsn, spec)
	return GuardReport(report), guardError(dsn, err)
}

// InstallGuard puts a guard on, or anew. Errors: as InspectGuard, and sentences
// that say why it cannot be put on. allowUnguardedLocks is as in Options.
func InstallGuard(ctx context.Context, dsn string, spec app.Guard, allowUnguardedLocks bool) (GuardReport, error) {
	if err := canGuard(dsn); err != nil {
		return GuardReport{}, err
	}
	report, err := sqlserver.InstallGuard(ctx, dsn, spec, sqlserver.GuardOptions{AllowUnguardedLocks: allowUnguardedLocks})
	return GuardReport(report), guardError(dsn, err)
}

// RemoveGuard takes a guard off; that none is on is no error.
func RemoveGuard(ctx context.Context, dsn string, spec app.Guard) error {
	if err := canGuard(dsn); err != nil {
		return err
	}
	return guardError(dsn, sqlserver.RemoveGuard(ctx, dsn, spec))
}

func canGuard(dsn string) error {
	engine, err := EngineOf(dsn)
	if err == nil && engine != SQLServer {
		err = fmt.Errorf("guard is for sqlserver alone, and --db is %s: name the older program's database with sqlserver://", engine)
	}
	return err
}

// guardError keeps what a caller looks at, and takes the secrets out of the rest.
func guardError(dsn string, err error) error {
	var invalid *app.ValidationError
	if err == nil || errors.As(err, &invalid) {
		return err
	}
	if errors.Is(err, app.ErrUnavailable) {
		return cannotOpen(dsn, err)
	}
	return NewScrubber(dsn).Error(err)
}
