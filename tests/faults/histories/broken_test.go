package histories

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // for the statement that breaks the file

	"slotkeeper/tests/engines"
	"slotkeeper/tests/served"
)

// A program that locks no slot before it decides, on tables that no longer
// judge, is found out: each request alone is still answered rightly, and only
// an order of them that cannot be gives it away.
// Seen red with: the program as it is in its place (no history was bad); do
// without the test of capacity and of the version.
func TestAProgramWithoutLocksIsFoundOut(t *testing.T) {
	t.Parallel()
	binary := served.Altered(t, true, func(text string) string {
		return strings.NewReplacer(" FOR NO KEY UPDATE SKIP LOCKED", "", " FOR NO KEY UPDATE", "").Replace(text)
	}, "postgres/sql/lock_slots.sql", "postgres/sql/lock_slots_free.sql")
	ways := served.Pick(
		map[string][]string{"one by one": {"--no-combine"}},
		map[string][]string{"one by one": {"--no-combine"}, "combined": nil})
	for name, args := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := engines.Postgres(t)
			servers := two(t, binary, db, args)
			conn, err := pgx.Connect(t.Context(), db)
			require.NoError(t, err)
			_, err = conn.Exec(t.Context(), "ALTER TABLE slots DROP CONSTRAINT slots_capacity")
			require.NoError(t, err)
			require.NoError(t, conn.Close(t.Context()))
			foundOut(t, servers)
		})
	}
}

// On SQLite nothing can race under the file's one lock, so what is broken is
// the count.
// Seen red with: the triggers left where they are.
func TestAFileThatDoesNotCountIsFoundOut(t *testing.T) {
	t.Parallel()
	db := engines.SQLite(t)
	servers := two(t, built, db, nil)
	file, err := sql.Open("sqlite", strings.TrimPrefix(db, "sqlite:"))
	require.NoError(t, err)
	defer file.Close()
	_, err = file.ExecContext(context.Background(), "PRAGMA busy_timeout = 5000; DROP TRIGGER reservations_count_insert; DROP TRIGGER reservations_count_delete; DROP TRIGGER reservations_count_update")
	require.NoError(t, err)
	foundOut(t, servers)
}

// foundOut makes histories until the checker refuses one.
func foundOut(t *testing.T, servers []string) {
	const tries = 20
	found := verdicts{}
	for n := range tries {
		c := newCrowd(t, servers...)
		c.broken = true
		c.play(uint64(time.Now().UnixNano()))
		if bad := c.judge(found); len(bad) > 0 {
			served.Figures(t, "a broken program was caught in history %d of %d at most, at %d of its slots", n+1, tries, len(bad))
			return
		}
	}
	require.NotZero(t, found[porcupine.Illegal], "%d histories of a broken program were taken for good: %v", tries, found)
}
