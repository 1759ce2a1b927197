package sqlite

import (
	"context"
	"embed"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migrations returns what moves the schema forward and back, and what closes
// its connection. Each step is one immediate transaction: of two processes
// that start at once the second finds the step done, so its Up may fail and
// has nothing to do. Errors: app.ErrUnavailable.
func Migrations(ctx context.Context, path string) (*goose.Provider, func() error, error) {
	db, err := connect(ctx, path, 1, "immediate", 10*time.Second)
	if err != nil {
		return nil, nil, err
	}
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	return p, db.Close, nil
}

// latest is the schema version that this program needs.
func latest() int64 {
	sources, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil || len(sources) == 0 {
		return 0
	}
	v, _ := goose.NumericComponent(sources[len(sources)-1]) // Glob sorts
	return v
}
