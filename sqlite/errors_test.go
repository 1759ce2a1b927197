package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

// The time of a call may end between two statements: database/sql rolls back
// and has its own error for whoever goes on. Seen red with: sql.ErrTxDone taken
// out of meaningOf.
func TestACallThatEndsInsideItsTransaction(t *testing.T) {
	db, err := connect(t.Context(), filepath.Join(t.TempDir(), "slotkeeper.db"), 1, "immediate", time.Second)
	require.NoError(t, err)
	defer db.Close()
	ctx, cancel := context.WithCancel(t.Context())
	err = inTx(ctx, db, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE never (id INTEGER)")
		require.NoError(t, err)
		cancel()
		for !errors.Is(err, sql.ErrTxDone) { // rolled back beside us
			_, err = tx.ExecContext(context.Background(), "SELECT 1")
		}
		return nil // and on to the commit
	})
	require.ErrorIs(t, err, sql.ErrTxDone)
	require.ErrorIs(t, err, app.ErrBusy, "nothing was written")
	var tables int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM sqlite_master").Scan(&tables))
	require.Zero(t, tables)
}
