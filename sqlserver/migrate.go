package sqlserver

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"slotkeeper/app"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migrations returns what moves the schema forward and back, and what closes
// its connections. A lock of the server's lets one replica migrate while the
// others wait. Errors: app.ErrUnavailable.
func Migrations(ctx context.Context, dsn string) (*goose.Provider, func() error, error) {
	db, err := openPool(ctx, dsn, 4)
	if err != nil {
		return nil, nil, err
	}
	files, err := fs.Sub(migrationFiles, "migrations")
	if err == nil {
		var p *goose.Provider
		if p, err = goose.NewProvider(goose.DialectMSSQL, db, files, goose.WithSessionLocker(appLock{})); err == nil {
			return p, db.Close, nil
		}
	}
	db.Close()
	return nil, nil, err
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

// appLock is goose's lock.SessionLocker by sp_getapplock; goose itself knows
// one for Postgres only. The lock belongs to the session: a replica that dies
// gives it back. It holds for one database, as a migration does.
type appLock struct{}

const (
	appLockName    = "slotkeeper migrations"
	appLockTimeout = 5 * 60 * 1000 // ms; a big table's index may take its time
)

// SessionLock waits for the lock. Errors: app.ErrBusy.
func (appLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	const text = `DECLARE @got INT;
EXEC @got = sp_getapplock @Resource = @name, @LockMode = 'Exclusive', @LockOwner = 'Session', @LockTimeout = @timeout;
SELECT @got;`
	var got int
	err := conn.QueryRowContext(ctx, text, sql.Named("name", appLockName), sql.Named("timeout", appLockTimeout)).Scan(&got)
	if err != nil {
		return translate(err)
	}
	if got < 0 { // -1 time-out, -2 cancelled, -3 deadlock, -999 bad call
		return fmt.Errorf("%w: another replica holds the lock for migrations (sp_getapplock: %d)", app.ErrBusy, got)
	}
	return nil
}

// SessionUnlock gives the lock back.
func (appLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "EXEC sp_releaseapplock @Resource = @name, @LockOwner = 'Session'", sql.Named("name", appLockName))
	return translate(err)
}
