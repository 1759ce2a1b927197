package tds_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"slotkeeper/tests/tds"
)

// broken says whether err is what the driver makes of a lost connection.
func broken(err error) bool {
	var network net.Error
	var stream mssql.StreamError
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.As(err, &network) || errors.As(err, &stream)
}

// once answers the first INSERT or COMMIT with r, later ones as usual.
func once(r tds.Reply) func(tds.Query) tds.Reply {
	used := false
	return func(q tds.Query) tds.Reply {
		if (q.Mentions("insert") || q.Kind == tds.Commit) && !used {
			used = true
			return r
		}
		return tds.Reply{}
	}
}

// Seen red with: Cut that answers DONE; Cut that keeps the connection open (the
// statement waits until the deadline).
func TestCut(t *testing.T) {
	tests := map[string]tds.Reply{
		"before the answer": tds.Cut(),
		"within the answer": tds.Seq(tds.Row("alice"), tds.Cut()),
		"after the error":   tds.Seq(tds.Throw(1, "slot is full"), tds.Cut()),
	}
	for name, r := range tests {
		t.Run(name, func(t *testing.T) {
			srv := tds.Start(t, once(r))
			db := open(t, srv)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, err := db.ExecContext(ctx, "INSERT …")
			require.True(t, broken(err), "%T %v", err, err)
			require.NoError(t, db.PingContext(ctx))
			require.Equal(t, 2, srv.Stats().Logins, "the pool made a new connection")
			q := srv.Queries()
			require.Equal(t, []int{1, 2}, []int{q[0].Conn, q[1].Conn}, "the statement was not sent twice")
			require.Len(t, q, 2)
		})
	}
}

// Seen red with: CutAfterCommit that rolls back.
func TestCutAtCommit(t *testing.T) {
	for _, c := range []struct {
		reply     tds.Reply
		committed int
	}{{tds.CutAfterCommit(), 1}, {tds.Cut(), 0}} {
		srv := tds.Start(t, once(c.reply))
		db := open(t, srv)
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.Exec("SELECT …")
		require.NoError(t, err)
		require.True(t, broken(tx.Commit()))
		require.NoError(t, db.Ping())
		require.Equal(t, c.committed, srv.Stats().Commits)
		require.Zero(t, srv.OpenTransactions())
		require.Equal(t, 2, srv.Stats().Logins)
	}
}

// Connections that lie idle in the pool when the server drops them: after a
// reset nothing can be sent, and database/sql itself takes another connection.
// Seen red with: a reset that is a plain close.
func TestIdleConnections(t *testing.T) {
	srv := tds.Start(t, always(tds.Reply{}))
	db := open(t, srv)
	require.NoError(t, db.Ping())
	srv.CutAll()
	require.True(t, broken(db.Ping()))
	require.NoError(t, db.Ping())
	require.Equal(t, 2, srv.Stats().Logins)
	srv.ResetAll()
	_, err := db.Exec("SELECT …")
	require.NoError(t, err)
	require.Equal(t, 3, srv.Stats().Logins)
}

// The client cancels its statement: transaction and connection go on. When it
// is a deadline that ends the statement, the server is told likewise, but the
// driver drops the connection all the same (context.DeadlineExceeded is a
// net.Error, which it takes for a broken connection), and with it the
// transaction, whose ROLLBACK gets driver.ErrBadConn.
// Seen red with: Hang that answers without waiting, and an attention confirmed
// by a DONE without its bit (the connection is lost after 5 s).
func TestAttention(t *testing.T) {
	const soon = 50 * time.Millisecond
	byDeadline := func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, soon)
	}
	byHand := func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(soon, cancel)
		return ctx, cancel
	}
	tests := map[string]struct {
		limit         func(context.Context) (context.Context, context.CancelFunc)
		cause, ending error
		logins        int
		args          []any
	}{
		"cancelled, batch":     {byHand, context.Canceled, nil, 1, nil},
		"cancelled, procedure": {byHand, context.Canceled, nil, 1, []any{1}},
		"deadline, batch":      {byDeadline, context.DeadlineExceeded, driver.ErrBadConn, 2, nil},
		"deadline, procedure":  {byDeadline, context.DeadlineExceeded, driver.ErrBadConn, 2, []any{1}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			srv := tds.Start(t, once(tds.Hang()))
			db := open(t, srv)
			tx, err := db.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			ctx, cancel := c.limit(t.Context())
			defer cancel()
			_, err = tx.ExecContext(ctx, "INSERT …", c.args...)
			require.ErrorIs(t, err, c.cause)
			require.ErrorIs(t, tx.Rollback(), c.ending)
			require.NoError(t, db.Ping())
			require.Zero(t, db.Stats().InUse)
			want := tds.Stats{Logins: c.logins, Resets: 2, Attentions: 1, Rollbacks: 1}
			require.Eventually(t, func() bool { return srv.Stats() == want }, 10*time.Second, time.Millisecond,
				"the server sees a little later that the client is gone: %+v", srv.Stats())
		})
	}
}

// The attention crosses the answer: it is confirmed after it.
// Seen red with: attentions ignored between requests (the driver gives the
// connection up after 5 s).
func TestAttentionAfterTheAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	srv := tds.Start(t, func(q tds.Query) tds.Reply {
		if q.Mentions("insert") {
			cancel()
		}
		return tds.Done(1)
	})
	db := open(t, srv)
	_, err := db.ExecContext(ctx, "INSERT …")
	require.True(t, err == nil || errors.Is(err, context.Canceled), err)
	require.NoError(t, db.Ping())
	require.Equal(t, 1, srv.Stats().Logins)
}

// A server that goes away while the client cancels.
func TestHangThenCut(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	srv := tds.Start(t, func(q tds.Query) tds.Reply {
		if q.Mentions("insert") {
			cancel()
			return tds.HangThenCut()
		}
		return tds.Reply{}
	})
	db := open(t, srv)
	_, err := db.ExecContext(ctx, "INSERT …")
	require.True(t, broken(err), "%T %v", err, err)
	require.NoError(t, db.Ping())
	require.Equal(t, []int{1, 2}, []int{srv.Stats().Attentions, srv.Stats().Logins})
}

// Seen red with: a refused login that is answered with LOGINACK after all.
func TestLoginRefused(t *testing.T) {
	srv := tds.Start(t, always(tds.Reply{}))
	db := open(t, srv)
	srv.RefuseLogins(tds.LoginFailed())
	last, _ := numbers(t, db.Ping())
	require.EqualValues(t, 18456, last)

	srv.RefuseLogins(tds.DatabaseMissing())
	last, all := numbers(t, db.Ping())
	require.EqualValues(t, 18456, last)
	require.Equal(t, []int32{4060, 18456}, all)

	srv.RefuseLogins(tds.Cut())
	require.True(t, broken(db.Ping()))

	srv.AllowLogins()
	require.NoError(t, db.Ping())
	require.Equal(t, tds.Stats{Logins: 1, Refused: srv.Stats().Refused, Resets: 1}, srv.Stats())
	require.GreaterOrEqual(t, srv.Stats().Refused, 3)

	srv.Close()
	require.NoError(t, db.Close())
	again := open(t, srv)
	require.True(t, broken(again.Ping()), "nothing listens")
}
