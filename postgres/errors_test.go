package postgres

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

// What a server in trouble says is no bug of the program: a client is told to
// come again, never 500. Seen red with: meaningOfState returning nil.
func TestAServerInTrouble(t *testing.T) {
	for code, want := range map[string]error{
		"57014": app.ErrTransient,   // statement_timeout, or an administrator's pg_cancel_backend
		"57P05": app.ErrTransient,   // idle_session_timeout
		"25P03": app.ErrTransient,   // idle_in_transaction_session_timeout
		"25P04": app.ErrTransient,   // transaction_timeout
		"57P04": app.ErrUnavailable, // the database was dropped
		"25006": app.ErrUnavailable, // after a failover this one only reads
		"53100": app.ErrUnavailable, // disk full
		"53200": app.ErrUnavailable, // out of memory
		"53300": app.ErrUnavailable, // too many connections
		"57P03": app.ErrUnavailable, // starting up
		"58030": app.ErrUnavailable, // the disk fails
		"08006": app.ErrUnavailable,
		"28P01": app.ErrUnavailable,
	} {
		require.ErrorIs(t, translate(&pgconn.PgError{Code: code}), want, code)
	}
	// A bug stays one, and a commit that a session's end cut is open.
	bug := &pgconn.PgError{Code: "42601"}
	require.Equal(t, error(bug), translate(bug))
	require.ErrorIs(t, afterCommit(&pgconn.PgError{Code: "57P05"}), app.ErrOutcomeUnknown)
	require.ErrorIs(t, afterCommit(&pgconn.PgError{Code: "53100"}), app.ErrUnavailable)
	require.False(t, errors.Is(afterCommit(&pgconn.PgError{Code: "53100"}), app.ErrOutcomeUnknown))
}
