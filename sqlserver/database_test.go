package sqlserver_test

import (
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"testing"

	_ "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"slotkeeper/app"
	"slotkeeper/sqlserver"
	"slotkeeper/tests/engines"
)

func TestMain(m *testing.M) { os.Exit(engines.Main(m)) }

// opened is a store that remembers its database.
type opened struct {
	*sqlserver.Store
	dsn string
}

func reopen(t *testing.T, db app.Store) app.Store {
	return openWith(t, db.(opened).dsn, sqlserver.Options{PoolSize: 16})
}

func openWith(t *testing.T, dsn string, o sqlserver.Options) opened {
	t.Helper()
	o.AllowUnguardedLocks = true // holdsLocks says what is not tested then
	o.Logger = slog.New(slog.DiscardHandler)
	s, err := sqlserver.Open(t.Context(), dsn, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return opened{s, dsn}
}

// migrated is a new database with the current schema.
func migrated(t testing.TB) string {
	t.Helper()
	dsn := engines.SQLServer(t)
	p, closeIt, err := sqlserver.Migrations(t.Context(), dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, closeIt()) }()
	_, err = p.Up(t.Context())
	require.NoError(t, err)
	return dsn
}

// holdsLocks skips, loudly, what only a server that keeps its locks can pass.
func holdsLocks(t *testing.T, dsn string) {
	t.Helper()
	err := sqlserver.LockCheck(t.Context(), pool(t, dsn))
	if errors.Is(err, sqlserver.ErrLocksIgnored) {
		t.Skipf("NOT TESTED: THIS SERVER IGNORES LOCK HINTS, so simultaneous writers can overbook on it; only a real SQL Server shows this race: %v", err)
	}
	require.NoError(t, err)
}

// pool is another program's connections to the database.
func pool(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlserver", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// exec runs statements that must succeed.
func exec(t *testing.T, db *sql.DB, texts ...string) {
	t.Helper()
	for _, text := range texts {
		_, err := db.ExecContext(t.Context(), text)
		require.NoError(t, err, text)
	}
}
