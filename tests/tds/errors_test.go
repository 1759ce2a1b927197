package tds_test

import (
	"database/sql"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"slotkeeper/tests/tds"
)

// shouting answers INSERT with r and everything else as usual.
func shouting(r tds.Reply) func(tds.Query) tds.Reply {
	return func(q tds.Query) tds.Reply {
		if q.Mentions("insert") {
			return r
		}
		return tds.Reply{}
	}
}

func numbers(t *testing.T, err error) (last int32, all []int32) {
	t.Helper()
	var e mssql.Error
	require.ErrorAs(t, err, &e)
	for _, one := range e.All {
		all = append(all, one.Number)
	}
	return e.Number, all
}

// What the driver makes of each stream: Number is the last error's, All has
// each, and whether the transaction is still open on the server afterwards.
// Seen red with: ENVCHANGE 10 left out of TransactionRolledBack (open is true
// on the client's side: its ROLLBACK reaches the server); 3609 sent before
// 50000; the DONE's error bit and the error both left out.
func TestErrorStreams(t *testing.T) {
	tests := map[string]struct {
		reply tds.Reply
		last  int32
		all   []int32
		open  bool
	}{
		"throw":            {tds.Throw(1, "slot is full"), 50000, []int32{50000}, false},
		"raise, rollback":  {tds.RaiseAndRollback(1, "slot is full"), 3609, []int32{50000, 3609}, false},
		"deadlock":         {tds.Deadlock(), 1205, []int32{1205}, false},
		"update conflict":  {tds.UpdateConflict(), 3960, []int32{3960}, false},
		"lock time-out":    {tds.LockTimeout(), 1222, []int32{1222}, true},
		"duplicate key":    {tds.DuplicateKey("one_live", "dbo.reservations"), 2627, []int32{2627}, true},
		"duplicate index":  {tds.DuplicateIndex("one_live", "dbo.reservations"), 2601, []int32{2601}, true},
		"foreign key":      {tds.ForeignKey("reservations_slot", "dbo.slots"), 547, []int32{547}, true},
		"with XACT_ABORT":  {tds.Seq(tds.LockTimeout(), tds.TransactionRolledBack()), 1222, []int32{1222}, false},
		"plain error":      {tds.Error(8134, 1, 16, "Divide by zero.", "", 3), 8134, []int32{8134}, true},
		"error, then rows": {tds.Seq(tds.DuplicateKey("k", "t"), tds.Done(1)), 2627, []int32{2627}, true},
	}
	for name, c := range tests {
		for _, args := range [][]any{nil, {int64(1)}} { // a batch, a procedure
			t.Run(name, func(t *testing.T) {
				srv := tds.Start(t, shouting(c.reply))
				db := open(t, srv)
				tx, err := db.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				_, err = tx.Exec("INSERT …", args...)
				last, all := numbers(t, err)
				require.Equal(t, c.last, last)
				require.Equal(t, c.all, all)
				require.Equal(t, c.open, srv.OpenTransactions() == 1)
				require.NoError(t, tx.Rollback(), "the driver knows of the transaction's end")

				queries := srv.Queries()
				require.Equal(t, c.open, queries[len(queries)-1].Kind == tds.Rollback)
				require.NoError(t, db.Ping())
				require.Equal(t, tds.Stats{Logins: 1, Resets: 2, Rollbacks: 1}, srv.Stats())
			})
		}
	}
}

// Seen red with: state and class exchanged.
func TestErrorFields(t *testing.T) {
	srv := tds.Start(t, always(tds.Throw(3, "capacity is below the 2 reserved")))
	_, err := open(t, srv).Exec("UPDATE …", 1)
	var e mssql.Error
	require.ErrorAs(t, err, &e)
	e.All = nil
	require.Equal(t, mssql.Error{
		Number: 50000, State: 3, Class: 16, Message: "capacity is below the 2 reserved",
		ServerName: "responder", ProcName: tds.Trigger, LineNo: 20,
	}, e)
}

// A second statement after the transaction's end does not reach the server,
// where it would commit by itself.
func TestStatementAfterThrow(t *testing.T) {
	srv := tds.Start(t, shouting(tds.Throw(1, "slot is full")))
	tx, err := open(t, srv).BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.Exec("INSERT …")
	require.Error(t, err)
	_, err = tx.Exec("UPDATE …")
	require.ErrorContains(t, err, "aborted by the server")
	require.ErrorContains(t, tx.Commit(), "aborted by the server")
	require.Len(t, srv.Queries(), 2, "BEGIN and INSERT")
}

// A server that ends the transaction without a word: the client's own end is
// then refused, and the connection goes on.
// Seen red with: ENVCHANGE 10 sent by TransactionLost.
func TestTransactionLost(t *testing.T) {
	lost := tds.Seq(tds.Error(50000, 1, 16, "slot is full", tds.Trigger, 9), tds.TransactionLost(), tds.EndedInTrigger())
	for number, end := range map[int32]func(*sql.Tx) error{3902: (*sql.Tx).Commit, 3903: (*sql.Tx).Rollback} {
		srv := tds.Start(t, shouting(lost))
		db := open(t, srv)
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.Exec("INSERT …")
		_, all := numbers(t, err)
		require.Equal(t, []int32{50000, 3609}, all)
		last, _ := numbers(t, end(tx))
		require.Equal(t, number, last)
		require.NoError(t, db.Ping())
		require.Equal(t, tds.Stats{Logins: 1, Resets: 2, Rollbacks: 1}, srv.Stats())
	}
}

// Seen red with: the DONE's server-error bit left out (the driver then keeps the
// connection that the server has closed).
func TestFatal(t *testing.T) {
	srv := tds.Start(t, shouting(tds.Fatal(596, "The session is being ended.")))
	db := open(t, srv)
	_, err := db.Exec("INSERT …", 1)
	require.ErrorAs(t, err, new(mssql.ServerError))
	last, all := numbers(t, err)
	require.Equal(t, []int32{596}, all)
	require.EqualValues(t, 596, last)
	require.NoError(t, db.Ping())
	require.Equal(t, 2, srv.Stats().Logins)
}

// A failed statement before the one that returns rows: in a batch the error
// comes at once, in a procedure the driver shows the rows first and the error
// when they are closed. An adapter that reads one row and looks no further
// takes the refusal for a success.
func TestErrorBeforeRows(t *testing.T) {
	srv := tds.Start(t, always(tds.Seq(tds.DuplicateKey("one_live", "dbo.reservations"), tds.Row(int64(7)))))
	db := open(t, srv)
	var id int64
	last, _ := numbers(t, db.QueryRow("INSERT …; SELECT …").Scan(&id))
	require.EqualValues(t, 2627, last)
	require.Zero(t, id)

	rows, err := db.Query("INSERT …; SELECT …", 1)
	require.NoError(t, err)
	defer rows.Close()
	require.True(t, rows.Next())
	require.NoError(t, rows.Scan(&id))
	require.EqualValues(t, 7, id)
	require.False(t, rows.Next())
	last, _ = numbers(t, rows.Err())
	require.EqualValues(t, 2627, last)
}
