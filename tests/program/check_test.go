package program

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // to break rows by plain SQL
)

// Rows that came in past the triggers are found, and named. Seen red with the
// exit code left at 0.
func TestCheckFindsBrokenRows(t *testing.T) {
	db := newDB(t)
	r := run(t, "import", "--db", db, "--slots", data(t, "slots.csv"), "--reservations", data(t, "requests.csv"))
	require.Equal(t, 0, r.code, r.stderr)
	r = run(t, "check", "--db", db)
	assert.Equal(t, 0, r.code)
	assert.Contains(t, r.stdout, "nothing is broken")
	r = run(t, "check", "--db", db, "--json")
	assert.Equal(t, 0, r.code)
	assert.Equal(t, "{\"faults\":[]}\n", r.stdout)

	smuggle(t, db, 1)
	r = run(t, "check", "--db", db)
	assert.Equal(t, 1, r.code)
	assert.Contains(t, r.stdout, "slot 1")
	assert.Empty(t, r.stderr)
	r = run(t, "check", "--db", db, "--json")
	assert.Equal(t, 1, r.code)
	assert.Contains(t, r.stdout, `"slot_id":1`)
	assert.NotContains(t, r.stdout, `"slot_id":2`)
}

// smuggle puts one row more into a full slot, as a bulk load without triggers
// would.
func smuggle(t *testing.T, dsn string, slot int) {
	t.Helper()
	db, err := sql.Open("sqlite", strings.TrimPrefix(dsn, "sqlite:"))
	require.NoError(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	rows, err := db.Query("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'reservations'")
	require.NoError(t, err)
	defer rows.Close()
	var triggers []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		triggers = append(triggers, name)
	}
	require.NoError(t, rows.Err())
	require.NotEmpty(t, triggers)
	for _, name := range triggers {
		_, err := db.Exec("DROP TRIGGER " + name)
		require.NoError(t, err)
	}
	_, err = db.Exec(fmt.Sprintf("INSERT INTO reservations (slot_id, user_id, status, created_at) VALUES (%d, 'smuggled', 'confirmed', 0)", slot))
	require.NoError(t, err)
}

func TestMigrate(t *testing.T) {
	db := newDB(t)
	r := run(t, "migrate", "status", "--db", db)
	assert.Equal(t, 1, r.code, "something is pending")
	assert.Contains(t, r.stdout, "pending")
	r = run(t, "migrate", "up", "--db", db)
	assert.Equal(t, 0, r.code)
	assert.Contains(t, r.stdout, "applied 00001_init.sql\n")
	r = run(t, "migrate", "up", "--db", db)
	assert.Equal(t, 0, r.code)
	assert.Equal(t, "nothing is pending\n", r.stdout)
	r = run(t, "migrate", "status", "--db", db)
	assert.Equal(t, 0, r.code)
	r = run(t, "migrate", "down", "--db", db)
	assert.Equal(t, 2, r.code, "without --yes nothing is undone")
	r = run(t, "migrate", "status", "--db", db)
	assert.Equal(t, 0, r.code)
	for {
		r = run(t, "migrate", "down", "--yes", "--db", db)
		if r.code != 0 {
			break
		}
		assert.Contains(t, r.stdout, "undone 0000")
	}
	assert.Contains(t, r.stderr, "no migration is applied: there is nothing to undo")
}
