package tds_test

import (
	"bytes"
	"context"
	"database/sql"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"slotkeeper/tests/tds"
)

// open returns a pool over srv of at most one connection, so that a test knows
// which one it uses.
func open(t *testing.T, srv *tds.Server) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlserver", srv.DSN())
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// always answers each statement with r, and transactions as usual.
func always(r tds.Reply) func(tds.Query) tds.Reply {
	return func(q tds.Query) tds.Reply {
		if q.Kind == tds.Batch || q.Kind == tds.RPC {
			return r
		}
		return tds.Reply{}
	}
}

// Seen red with: a login answer without LOGINACK (the driver waits for ever and
// the deadline ends it), and with a PRELOGIN that offers encryption.
func TestLogin(t *testing.T) {
	srv := tds.Start(t, always(tds.Reply{}))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, open(t, srv).PingContext(ctx))
	require.Equal(t, 1, srv.Stats().Logins)
}

// Seen red with: NULL sent as an empty nvarchar; days of a date counted from
// 1900; the offset in place of UTC; the integer types' lengths exchanged.
func TestRowsOfEveryType(t *testing.T) {
	columns := []tds.Column{
		{Name: "id", Type: tds.BigInt}, {Name: "capacity", Type: tds.Int}, {Name: "live", Type: tds.Bit},
		{Name: "user_id", Type: tds.NVarChar}, {Name: "starts_at", Type: tds.DateTimeOffset}, {Name: "at", Type: tds.DateTime2},
	}
	start := time.Date(2026, 12, 1, 9, 0, 0, 123456700, time.FixedZone("", -5*3600))
	early := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	late := time.Date(9998, 12, 31, 23, 59, 59, 999999900, time.UTC)
	srv := tds.Start(t, always(tds.Rows(columns,
		[]any{int64(math.MinInt64), -1, true, "Zoë 👩‍⚕️", start, late},
		[]any{math.MaxInt64, math.MaxInt32, false, "", early, start},
		[]any{nil, nil, nil, nil, nil, nil},
	)))
	rows, err := open(t, srv).Query("SELECT …")
	require.NoError(t, err)
	defer rows.Close()
	names, err := rows.Columns()
	require.NoError(t, err)
	require.Equal(t, []string{"id", "capacity", "live", "user_id", "starts_at", "at"}, names)

	next := func() []any {
		got := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range got {
			into[i] = &got[i]
		}
		require.True(t, rows.Next())
		require.NoError(t, rows.Scan(into...))
		return got
	}
	first := next()
	require.Equal(t, []any{int64(math.MinInt64), int64(-1), true, "Zoë 👩‍⚕️"}, first[:4])
	require.True(t, start.Equal(first[4].(time.Time)), first[4])
	_, east := first[4].(time.Time).Zone()
	require.Equal(t, -5*3600, east)
	require.True(t, late.Equal(first[5].(time.Time)), first[5])
	second := next()
	require.Equal(t, []any{int64(math.MaxInt64), int64(math.MaxInt32), false, ""}, second[:4])
	require.True(t, early.Equal(second[4].(time.Time)), second[4])
	require.True(t, start.UTC().Equal(second[5].(time.Time)), second[5])
	require.Equal(t, make([]any, len(columns)), next())
	require.False(t, rows.Next())
	require.NoError(t, rows.Err())
}

// A long answer comes in packets of the size that the login asked for.
// Seen red with: every packet marked as the message's last.
func TestAnswersLongerThanAPacket(t *testing.T) {
	long := strings.Repeat("ä", 4000)
	srv := tds.Start(t, always(tds.Row(long, long, int64(7))))
	for _, size := range []string{"", "&packet size=512"} {
		db, err := sql.Open("sqlserver", srv.DSN()+size)
		require.NoError(t, err)
		defer db.Close()
		var a, b string
		var n int64
		require.NoError(t, db.QueryRow("SELECT @p1", long+long).Scan(&a, &b, &n))
		require.Equal(t, []any{long, long, int64(7)}, []any{a, b, n})
	}
	for _, q := range srv.Queries() {
		require.Equal(t, long+long, q.Param("p1"), "a request longer than a packet")
	}
}

// Seen red with: the count left out of DONE; MORE left out between statements.
func TestBatchOfSeveralStatements(t *testing.T) {
	srv := tds.Start(t, func(q tds.Query) tds.Reply {
		if q.Mentions("scope_identity") {
			return tds.Seq(tds.Done(1), tds.Row(int64(42)))
		}
		return tds.Seq(tds.Done(1), tds.Done(2))
	})
	db := open(t, srv)
	for _, args := range [][]any{nil, {int64(1)}} { // a batch, a procedure
		result, err := db.Exec("UPDATE …; DELETE …", args...)
		require.NoError(t, err)
		n, err := result.RowsAffected()
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
		var id int64
		require.NoError(t, db.QueryRow("INSERT …; SELECT SCOPE_IDENTITY()", args...).Scan(&id))
		require.EqualValues(t, 42, id)
	}
}

// Seen red with: the declarations not left out; 4-byte integers read as unsigned.
func TestQueriesAreRecorded(t *testing.T) {
	srv := tds.Start(t, always(tds.Reply{}))
	db := open(t, srv)
	at := time.Date(2026, 12, 1, 9, 0, 0, 100, time.FixedZone("", 7200))
	_, err := db.Exec("UPDATE slots SET a=@a, b=@p2, c=@p3 WHERE d=@p4 AND e=@p5 AND f=@p6",
		sql.Named("a", int64(-7)), int32(-8), "Zoë", at, true, nil)
	require.NoError(t, err)
	_, err = db.Exec("DELETE FROM slots")
	require.NoError(t, err)
	_, err = db.Exec("sp_prepexec", 1, "@p1 nvarchar(5)", "SELECT @p1", mssql.VarChar("alice"))
	require.NoError(t, err)
	var status mssql.ReturnStatus
	_, err = db.Exec("sweep_holds", sql.Named("limit", 500.5), []byte{1, 2}, &status)
	require.NoError(t, err)
	require.Zero(t, status)

	q := srv.Queries()
	require.Len(t, q, 4)
	require.Equal(t, "sp_executesql", q[0].Proc)
	require.True(t, q[0].Mentions("update", "SLOTS"))
	require.Equal(t, []tds.Param{
		{"@a", int64(-7)}, {"@p2", int64(-8)}, {"@p3", "Zoë"}, {"@p4", at.UTC()}, {"@p5", true}, {"@p6", nil},
	}, q[0].Params)
	require.Equal(t, []any{tds.Batch, "DELETE FROM slots"}, []any{q[1].Kind, q[1].Text})
	require.Equal(t, []any{"SELECT @p1", []tds.Param{{"", "alice"}}}, []any{q[2].Text, q[2].Params})
	require.Equal(t, []any{"sweep_holds", 500.5}, []any{q[3].Text, q[3].Param("limit")})
	require.Equal(t, []byte{1, 2}, q[3].Params[1].Value)
}

// Seen red with: ENVCHANGE 8 left out (the driver takes the transaction for
// aborted), and 9 sent with the descriptor of another transaction kept open.
func TestTransactions(t *testing.T) {
	srv := tds.Start(t, always(tds.Done(1)))
	db := open(t, srv)
	for _, commit := range []bool{true, false} {
		srv.Forget()
		tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
		require.NoError(t, err)
		require.Equal(t, 1, srv.OpenTransactions())
		_, err = tx.Exec("INSERT …")
		require.NoError(t, err)
		end := map[bool]func() error{true: tx.Commit, false: tx.Rollback}[commit]
		require.NoError(t, end())
		require.Zero(t, srv.OpenTransactions())
		_, err = db.Exec("SELECT …")
		require.NoError(t, err)

		q := srv.Queries()
		require.Len(t, q, 4)
		require.Equal(t, []any{tds.Begin, byte(2), false}, []any{q[0].Kind, q[0].Isolation, q[0].InTransaction})
		require.True(t, q[1].InTransaction)
		require.NotZero(t, q[1].Transaction)
		require.Equal(t, q[1].Transaction, q[2].Transaction)
		require.Zero(t, q[3].Transaction)
		require.False(t, q[3].InTransaction)
	}
	require.Equal(t, tds.Stats{Logins: 1, Resets: srv.Stats().Resets, Commits: 1, Rollbacks: 1}, srv.Stats())
}

// The pool asks for a reset with the first request after it took a connection;
// a transaction that a batch left open does not outlive it.
// Seen red with: the reset flag not read from the first packet.
func TestReset(t *testing.T) {
	srv := tds.Start(t, func(q tds.Query) tds.Reply {
		if q.Mentions("begin transaction") {
			return tds.TransactionBegan()
		}
		return tds.Reply{}
	})
	db := open(t, srv)
	_, err := db.Exec("BEGIN TRANSACTION")
	require.NoError(t, err)
	require.Equal(t, 1, srv.OpenTransactions())
	tx, err := db.Begin()
	require.NoError(t, err)
	_, err = tx.Exec("SELECT …")
	require.NoError(t, err)
	require.NoError(t, tx.Commit())
	q := srv.Queries()
	require.Len(t, q, 4)
	require.Equal(t, []bool{true, true, false, false}, []bool{q[0].Reset, q[1].Reset, q[2].Reset, q[3].Reset})
	require.Equal(t, tds.Stats{Logins: 1, Resets: 2, Commits: 1, Rollbacks: 1}, srv.Stats())
}

// Seen red with: Close that does not close the connections (the test hangs in
// its cleanup).
func TestNothingIsLeft(t *testing.T) {
	t.Run("server", func(t *testing.T) {
		srv := tds.Start(t, always(tds.Reply{}))
		require.NoError(t, open(t, srv).Ping())
		srv.Close()
	})
	require.Eventually(t, func() bool { // a goroutine that is done is listed for a moment still
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return !bytes.Contains(stacks, []byte("tds.(*Server)")) && !bytes.Contains(stacks, []byte("tds.(*conn)"))
	}, 10*time.Second, time.Millisecond)
}
