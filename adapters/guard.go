package adapters

import (
	"context"
	"errors"

	"slotkeeper/app"
	"slotkeeper/postgres"
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

// GuardScript returns the SQL that puts a guard on, without asking a database:
// for the engine of dsn, and T-SQL where dsn is "".
// Errors: *app.ValidationError, or a sentence.
func GuardScript(dsn string, spec app.Guard) (string, error) {
	if dsn == "" {
		return sqlserver.GenerateGuard(spec)
	}
	engine, err := canGuard(dsn)
	switch {
	case err != nil:
		return "", err
	case engine == Postgres:
		return postgres.GenerateGuard(spec)
	default:
		return sqlserver.GenerateGuard(spec)
	}
}

// InspectGuard looks whether tables can be guarded and how they are now; it
// changes nothing. Errors: *app.ValidationError, app.ErrUnavailable.
func InspectGuard(ctx context.Context, dsn string, spec app.Guard) (GuardReport, error) {
	engine, err := canGuard(dsn)
	switch {
	case err != nil:
		return GuardReport{}, err
	case engine == Postgres:
		report, err := postgres.InspectGuard(ctx, dsn, spec)
		return GuardReport(report), guardError(dsn, err)
	default:
		report, err := sqlserver.InspectGuard(ctx, dsn, spec)
		return GuardReport(report), guardError(dsn, err)
	}
}

// InstallGuard puts a guard on, or anew. Errors: as InspectGuard, and sentences
// that say why it cannot be put on. allowUnguardedLocks is as in Options.
func InstallGuard(ctx context.Context, dsn string, spec app.Guard, allowUnguardedLocks bool) (GuardReport, error) {
	engine, err := canGuard(dsn)
	switch {
	case err != nil:
		return GuardReport{}, err
	case engine == Postgres && allowUnguardedLocks:
		return GuardReport{}, errors.New("--allow-unguarded-locks is for sqlserver alone: leave it out with postgres")
	case engine == Postgres:
		report, err := postgres.InstallGuard(ctx, dsn, spec)
		return GuardReport(report), guardError(dsn, err)
	default:
		report, err := sqlserver.InstallGuard(ctx, dsn, spec, sqlserver.GuardOptions{AllowUnguardedLocks: allowUnguardedLocks})
		return GuardReport(report), guardError(dsn, err)
	}
}

// RemoveGuard takes a guard off; that none is on is no error.
func RemoveGuard(ctx context.Context, dsn string, spec app.Guard) error {
	engine, err := canGuard(dsn)
	switch {
	case err != nil:
		return err
	case engine == Postgres:
		return guardError(dsn, postgres.RemoveGuard(ctx, dsn, spec))
	default:
		return guardError(dsn, sqlserver.RemoveGuard(ctx, dsn, spec))
	}
}

func canGuard(dsn string) (Engine, error) {
	engine, err := EngineOf(dsn)
	if err == nil && engine == SQLite {
		err = errors.New("guard is for sqlserver and postgres, and --db is sqlite: name the older program's database with sqlserver:// or postgres://")
	}
	return engine, err
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
