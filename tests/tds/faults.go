package tds

import "fmt"

// Error answers with one error; further ones may follow in a Seq. By itself it
// leaves the transaction open.
func Error(number int32, state, class byte, message, procedure string, line int32) Reply {
	return reply(func(a *answer) {
		a.message(tokenError, number, state, class, message, procedure, line)
		a.last = number
	})
}

// Info is a message that is no error.
func Info(number int32, message string) Reply {
	return reply(func(a *answer) { a.message(tokenInfo, number, 1, 0, message, "", 1) })
}

// TransactionBegan is what a batch's own BEGIN TRANSACTION says.
func TransactionBegan() Reply {
	return reply(func(a *answer) {
		a.envChange(envBegin, descriptor(a.conn.server.begin(a.conn)), nil)
	})
}

// TransactionCommitted is what a batch's own COMMIT says.
func TransactionCommitted() Reply {
	return reply(func(a *answer) {
		if d := a.conn.server.finish(a.conn, true); d != 0 {
			a.envChange(envCommit, nil, descriptor(d))
		}
	})
}

// TransactionRolledBack ends the transaction and says so, as an error does that
// aborts the batch. Outside a transaction it says nothing.
func TransactionRolledBack() Reply {
	return reply(func(a *answer) {
		a.terminal = true
		if d := a.conn.server.finish(a.conn, false); d != 0 {
			a.envChange(envRollback, nil, descriptor(d))
		}
	})
}

// TransactionLost ends the transaction and does not say so, as some servers
// that only speak T-SQL do: the client's own ROLLBACK gets 3903, its COMMIT 3902.
func TransactionLost() Reply {
	return reply(func(a *answer) {
		a.terminal = true
		a.conn.server.finish(a.conn, false)
	})
}

// Trigger is the procedure that the triggers' errors below name.
const Trigger = "reservations_capacity"

// Throw is a trigger's THROW 50000: the error, and the transaction's end.
func Throw(state byte, message string) Reply {
	return Seq(Error(50000, state, 16, message, Trigger, 20), TransactionRolledBack())
}

// RaiseAndRollback is an older trigger's RAISERROR and ROLLBACK TRANSACTION:
// the server adds 3609, which is then the last error.
func RaiseAndRollback(state byte, message string) Reply {
	return Seq(Error(50000, state, 16, message, Trigger, 20), TransactionRolledBack(), EndedInTrigger())
}

// EndedInTrigger is error 3609.
func EndedInTrigger() Reply {
	return Error(3609, 1, 16, "The transaction ended in the trigger. The batch has been aborted.", "", 1)
}

// Deadlock is error 1205: this transaction is the victim, and over.
func Deadlock() Reply {
	const text = "Transaction (Process ID 52) was deadlocked on lock resources with another process " +
		"and has been chosen as the deadlock victim. Rerun the transaction."
	return Seq(Error(1205, 51, 13, text, "", 1), TransactionRolledBack())
}

// UpdateConflict is error 3960 of a snapshot transaction, which is over.
func UpdateConflict() Reply {
	const text = "Snapshot isolation transaction aborted due to update conflict."
	return Seq(Error(3960, 2, 16, text, "", 1), TransactionRolledBack())
}

// LockTimeout is error 1222. The transaction goes on, and so does the batch.
func LockTimeout() Reply {
	return Seq(Error(1222, 51, 16, "Lock request time out period exceeded.", "", 1), StatementFailed())
}

// DuplicateKey is error 2627 of a constraint. The transaction goes on, and so
// does the batch.
func DuplicateKey(constraint, table string) Reply {
	text := fmt.Sprintf("Violation of UNIQUE KEY constraint '%s'. Cannot insert duplicate key in object '%s'. "+
		"The duplicate key value is (1, alice).", constraint, table)
	return terminated(Error(2627, 1, 14, text, "", 1))
}

// DuplicateIndex is error 2601 of a unique index. The transaction goes on, and
// so does the batch.
func DuplicateIndex(index, table string) Reply {
	text := fmt.Sprintf("Cannot insert duplicate key row in object '%s' with unique index '%s'. "+
		"The duplicate key value is (1, alice).", table, index)
	return terminated(Error(2601, 1, 14, text, "", 1))
}

// ForeignKey is error 547 of an INSERT. The transaction goes on, and so does
// the batch.
func ForeignKey(constraint, table string) Reply {
	text := fmt.Sprintf("The INSERT statement conflicted with the FOREIGN KEY constraint \"%s\". "+
		"The conflict occurred in database \"clinic\", table \"%s\", column 'id'.", constraint, table)
	return terminated(Error(547, 0, 16, text, "", 1))
}

func terminated(r Reply) Reply {
	return Seq(r, Info(3621, "The statement has been terminated."), StatementFailed())
}

// StatementFailed ends a statement that had an error: what follows in a Seq is
// the answer to the batch's next statement.
func StatementFailed() Reply {
	return reply(func(a *answer) { a.statement(doneError, 0, 0) })
}

// Fatal is an error of class 20: the server ends the connection, and with it
// the transaction.
func Fatal(number int32, message string) Reply {
	return Seq(Error(number, 1, 20, message, "", 1), reply(func(a *answer) {
		id := byte(tokenDone)
		if a.request == RPC {
			id = tokenDoneProc
		}
		a.done(id, doneError|doneServerError, 0, 0)
		a.end = complete
	}))
}

// NoCommit is error 3902: COMMIT without a transaction.
func NoCommit() Reply {
	return Error(3902, 1, 16, "The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.", "", 1)
}

// NoRollback is error 3903: ROLLBACK without a transaction.
func NoRollback() Reply {
	return Error(3903, 1, 16, "The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.", "", 1)
}

// LoginFailed is error 18456, for RefuseLogins.
func LoginFailed() Reply {
	return Error(18456, 1, 14, "Login failed for user 'clerk'.", "", 1)
}

// DatabaseMissing is error 4060 and the 18456 that follows it, for RefuseLogins.
func DatabaseMissing() Reply {
	const text = "Cannot open database \"clinic\" requested by the login. The login failed."
	return Seq(Error(4060, 1, 11, text, "", 1), LoginFailed())
}

// Cut closes the connection in place of an answer, or after the beginning of
// one: what stands before it in a Seq is sent.
func Cut() Reply {
	return reply(func(a *answer) { a.end = cut })
}

// CutAfterCommit commits the transaction and closes the connection in place of
// an answer: the client cannot know.
func CutAfterCommit() Reply {
	return reply(func(a *answer) {
		a.conn.server.finish(a.conn, true)
		a.end = cut
	})
}

// Hang waits until the client cancels its request and confirms that.
func Hang() Reply {
	return reply(func(a *answer) { a.end = hang })
}

// HangThenCut waits until the client cancels its request and closes the
// connection in place of confirming that.
func HangThenCut() Reply {
	return reply(func(a *answer) { a.end = hangThenCut })
}

// ordinary is the answer to a request that the test leaves alone.
func ordinary(k Kind) Reply {
	switch k {
	case Begin:
		return TransactionBegan()
	case Commit, Rollback:
		return reply(func(a *answer) { a.endTransaction(k == Commit) })
	}
	return Done(0)
}

func (a *answer) endTransaction(commit bool) {
	kind, none := byte(envRollback), NoRollback()
	if commit {
		kind, none = envCommit, NoCommit()
	}
	if d := a.conn.server.finish(a.conn, commit); d != 0 {
		a.envChange(kind, nil, descriptor(d))
		return
	}
	for _, step := range none.steps {
		step(a)
	}
}
