package engines

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Seen red with: dropPostgres doing nothing; its statement without FORCE.
func TestPostgresDatabaseIsNewAndDropped(t *testing.T) {
	var dsn, other string
	one := attempted(t, func(tb testing.TB) { dsn = Postgres(tb) })
	skipAs(t, one)
	two := attempted(t, func(tb testing.TB) { other = Postgres(tb) })
	defer two.finish()
	require.NotEqual(t, dsn, other)

	leftOpen, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer leftOpen.Close(context.Background())
	_, err = leftOpen.Exec(t.Context(), "CREATE TABLE slots (id bigint)")
	require.NoError(t, err)
	assert.Equal(t, 1, postgresTables(t, dsn))
	assert.Equal(t, 0, postgresTables(t, other))

	one.finish()
	assert.Empty(t, one.logged[1:], "only what was found is logged, no failed drop")
	_, err = pgx.Connect(t.Context(), dsn)
	var refusal *pgconn.PgError
	require.True(t, errors.As(err, &refusal), "%v", err)
	assert.Equal(t, "3D000", refusal.Code, "the database does not exist")
}

// skipAs skips this test where the engine could not be had. The first test to
// ask gets a log line from its search; a later one does not.
func skipAs(t *testing.T, fake *fakeTB) {
	t.Helper()
	if fake.failed != "" {
		t.Fatal(fake.failed)
	}
	if fake.skipped != "" {
		t.Skip(fake.skipped)
	}
	if len(fake.logged) == 0 {
		fake.logged = []string{"found earlier"}
	}
}

func postgresTables(t *testing.T, dsn string) (tables int) {
	t.Helper()
	err := withPostgres(t.Context(), dsn, func(conn *pgx.Conn) error {
		const question = "SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace " +
			"WHERE n.nspname = 'public'"
		return conn.QueryRow(t.Context(), question).Scan(&tables)
	})
	require.NoError(t, err)
	return tables
}

// A drop may fail, and is then logged; but nothing of the first test may be seen
// in the database of the second.
func TestSQLServerDatabaseIsNewAndDropped(t *testing.T) {
	var dsn, other string
	one := attempted(t, func(tb testing.TB) { dsn = SQLServer(tb) })
	skipAs(t, one)
	two := attempted(t, func(tb testing.TB) { other = SQLServer(tb) })
	defer two.finish()
	require.NotEqual(t, dsn, other)

	err := withSQLServer(dsn, func(db *sql.DB) error {
		_, err := db.ExecContext(t.Context(), "CREATE TABLE slots (id bigint)")
		return err
	})
	require.NoError(t, err)
	assert.Equal(t, 1, sqlserverTables(t, dsn))
	assert.Equal(t, 0, sqlserverTables(t, other))

	one.finish()
	if len(one.logged) > 1 {
		t.Log(one.logged[1:])
		return
	}
	_, err = probeSQLServer(t.Context(), dsn)
	assert.Error(t, err, "the database does not exist")
}

func sqlserverTables(t *testing.T, dsn string) (tables int) {
	t.Helper()
	err := withSQLServer(dsn, func(db *sql.DB) error {
		const question = "SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = 'slots'"
		return db.QueryRowContext(t.Context(), question).Scan(&tables)
	})
	require.NoError(t, err)
	return tables
}

// Seen red with: a folder made by os.MkdirTemp in place of TempDir's.
func TestSQLiteFileIsNewAndRemoved(t *testing.T) {
	var path string
	t.Run("test", func(t *testing.T) {
		dsn := SQLite(t)
		var found bool
		path, found = strings.CutPrefix(dsn, "sqlite:")
		require.True(t, found, dsn)
		assert.NoFileExists(t, path)
		assert.NotEqual(t, dsn, SQLite(t))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	})
	assert.NoFileExists(t, path)
}
