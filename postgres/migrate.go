package postgres

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"slotkeeper/app"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migrations returns what moves the schema forward and back, and what closes
// its connection. A session-level advisory lock lets one replica migrate while
// the others wait. Errors: app.ErrUnavailable.
func Migrations(ctx context.Context, dsn string) (*goose.Provider, func() error, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, nil, errDSN
	}
	db := stdlib.OpenDB(*cfg)
	p, err := provider(db)
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		return nil, nil, fmt.Errorf("%w: %w", app.ErrUnavailable, err)
	}
	return p, db.Close, nil
}

func provider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker))
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
