package outage

import (
	"database/sql"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// open is another program's way into the database of a DSN.
func open(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	driver, name := "pgx", dsn
	if path, lite := strings.CutPrefix(dsn, "sqlite:"); lite {
		driver, name = "sqlite", "file:"+path+"?_pragma=busy_timeout(5000)"
	}
	db, err := sql.Open(driver, name)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// rows has who holds a live row, by slot: the truth, read around the program.
func rows(t testing.TB, dsn string) map[int64]map[string]bool {
	t.Helper()
	db := open(t, dsn)
	defer db.Close()
	found, err := db.QueryContext(short(t), "SELECT slot_id, user_id FROM reservations WHERE status IN ('held', 'confirmed')")
	require.NoError(t, err)
	defer found.Close()
	have := map[int64]map[string]bool{}
	for found.Next() {
		var slot int64
		var user string
		require.NoError(t, found.Scan(&slot, &user))
		if have[slot] == nil {
			have[slot] = map[string]bool{}
		}
		have[slot][user] = true
	}
	require.NoError(t, found.Err())
	return have
}
