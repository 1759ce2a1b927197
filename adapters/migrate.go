package adapters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"github.com/pressly/goose/v3"

	"slotkeeper/postgres"
	"slotkeeper/sqlite"
	"slotkeeper/sqlserver"
)

// Step is one migration.
type Step struct {
	Version int64     `json:"version"`
	Name    string    `json:"name"`             // of its file
	Applied time.Time `json:"applied,omitzero"` // zero while it is pending, and where the database does not say when
	Pending bool      `json:"pending"`
}

// ErrNothingToUndo: no migration is applied.
var ErrNothingToUndo = errors.New("no migration is applied: there is nothing to undo")

// migrations opens the migrations of a DSN's engine.
func migrations(ctx context.Context, dsn string) (*goose.Provider, func() error, error) {
	engine, err := EngineOf(dsn)
	switch {
	case err != nil:
		return nil, nil, err
	case engine == Postgres:
		return postgres.Migrations(ctx, dsn)
	case engine == SQLServer:
		return sqlserver.Migrations(ctx, dsn)
	default:
		path, err := sqlitePath(dsn)
		if err != nil {
			return nil, nil, err
		}
		return sqlite.Migrations(ctx, path)
	}
}

// with runs do on a DSN's migrations; its errors have no secrets in them.
func with(ctx context.Context, dsn string, do func(*goose.Provider) error) error {
	if err := Validate(dsn, Options{}); err != nil {
		return err
	}
	p, closeIt, err := migrations(ctx, dsn)
	if err != nil {
		return cannotOpen(dsn, err)
	}
	err = errors.Join(do(p), closeIt())
	if errors.Is(err, ErrNothingToUndo) {
		return err
	}
	return NewScrubber(dsn).Error(err)
}

// Up applies what is pending and returns it. Two replicas may do so at once.
// Errors: a sentence where the database was made by a newer program.
func Up(ctx context.Context, dsn string) (done []Step, err error) {
	err = with(ctx, dsn, func(p *goose.Provider) error {
		done, err = up(ctx, p)
		return err
	})
	return done, err
}

// up runs until nothing is pending. A try fails where another process did its
// step meanwhile, so a failure counts only when it comes again and again.
func up(ctx context.Context, p *goose.Provider) (done []Step, err error) {
	const tries = 10
	for range tries {
		if err = notNewer(ctx, p); err != nil {
			pause(ctx)
			continue
		}
		var results []*goose.MigrationResult
		results, err = p.Up(ctx)
		var partial *goose.PartialError
		if errors.As(err, &partial) {
			results = partial.Applied
		}
		for _, r := range results {
			done = append(done, Step{Version: r.Source.Version, Name: path.Base(r.Source.Path)})
		}
		if err == nil {
			return done, nil
		}
		pause(ctx)
	}
	return done, fmt.Errorf("migrate: %w", err)
}

// pause lets another process do its step, unless ctx ends first: then the next
// try says so.
func pause(ctx context.Context) {
	timer := time.NewTimer(20 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// notNewer refuses a schema that this program does not know.
func notNewer(ctx context.Context, p *goose.Provider) error {
	current, target, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if current > target {
		return fmt.Errorf("the database has schema version %d and this program knows %d: use the newer slotkeeper", current, target)
	}
	return nil
}

// Pending says whether migrations are to be applied; it does not wait for a
// replica that is at it. Errors: as Up.
func Pending(ctx context.Context, dsn string) (pending bool, err error) {
	if engine, _ := EngineOf(dsn); engine == SQLite {
		// Opening would make the file, and a mistyped name leave one behind.
		file, err := sqlitePath(dsn)
		if err != nil {
			return false, err
		}
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			return true, nil
		}
	}
	err = with(ctx, dsn, func(p *goose.Provider) error {
		if err := notNewer(ctx, p); err != nil {
			return err
		}
		pending, err = p.HasPending(ctx)
		return err
	})
	return pending, err
}

// Down undoes the last migration and returns it. Errors: ErrNothingToUndo.
func Down(ctx context.Context, dsn string) (undone Step, err error) {
	err = with(ctx, dsn, func(p *goose.Provider) error {
		if err := notNewer(ctx, p); err != nil {
			return err
		}
		r, err := p.Down(ctx)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return ErrNothingToUndo
		}
		if err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		undone = Step{Version: r.Source.Version, Name: path.Base(r.Source.Path), Pending: true}
		return nil
	})
	return undone, err
}

// Status returns every migration that this program knows, in order.
func Status(ctx context.Context, dsn string) (steps []Step, err error) {
	err = with(ctx, dsn, func(p *goose.Provider) error {
		if err := notNewer(ctx, p); err != nil {
			return err
		}
		all, err := p.Status(ctx)
		if err != nil {
			return fmt.Errorf("read the migrations: %w", err)
		}
		for _, s := range all {
			steps = append(steps, Step{s.Source.Version, path.Base(s.Source.Path), s.AppliedAt.UTC(), s.State == goose.StatePending})
		}
		return nil
	})
	return steps, err
}
