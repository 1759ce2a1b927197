package app

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Observer is told what a Service does, for metrics. Its methods are called
// from many goroutines and must not block.
type Observer interface {
	Judged(a Action, r Reservation, err error) // a reserve, confirm or cancel was answered so; of ReserveAll, each item written or refused
	Retried(why Reason)                        // a transaction is run again
	Waited(d time.Duration)                    // a request to write waited so long, for its turn and for locks
	Batch(size int)                            // this many requests were written in one transaction
	Waiting(delta int)                         // the number of requests that wait to be written changed
	Swept(holds int)                           // a sweep freed this many holds
}

type silent struct{}

func (silent) Judged(Action, Reservation, error) {}
func (silent) Retried(Reason)                    {}
func (silent) Waited(time.Duration)              {}
func (silent) Batch(int)                         {}
func (silent) Waiting(int)                       {}
func (silent) Swept(int)                         {}

// Reason is why a transaction must be run again. It is an ErrTransient, which
// a Store returns where it knows the reason.
type Reason string

// The reasons, a closed set.
const (
	ReasonSerialization  Reason = "serialization"   // another transaction was first, so the server gave this one up
	ReasonDeadlock       Reason = "deadlock"        // the server ended this transaction to break a circle
	ReasonLockTimeout    Reason = "lock-timeout"    // a lock was not had in the time that a statement waits for it
	ReasonLocked         Reason = "locked"          // the slot was locked, so its requests are written apart from the rest
	ReasonConnection     Reason = "connection"      // the connection broke, or the server ended it, before COMMIT
	ReasonOutcomeUnknown Reason = "unknown-outcome" // the connection broke behind COMMIT: see ErrOutcomeUnknown
	ReasonOther          Reason = "other"           // such as a row that another program took meanwhile
)

// Reasons lists all of them.
func Reasons() []Reason {
	return []Reason{ReasonSerialization, ReasonDeadlock, ReasonLockTimeout, ReasonLocked, ReasonConnection,
		ReasonOutcomeUnknown, ReasonOther}
}

func (r Reason) Error() string { return ErrTransient.Error() + ": " + string(r) }

// Unwrap makes it an ErrTransient.
func (r Reason) Unwrap() error { return ErrTransient }

// reasonOf is the reason to run again what failed with err.
func reasonOf(err error) Reason {
	var why Reason
	switch {
	case errors.Is(err, ErrOutcomeUnknown):
		return ReasonOutcomeUnknown
	case errors.As(err, &why):
		return why
	}
	return ReasonOther
}

type lockWaitKey struct{}

// lockWait sums what the transactions of one call waited for locks.
type lockWait struct{ nanos atomic.Int64 }

func (w *lockWait) total() time.Duration { return time.Duration(w.nanos.Load()) }

func withLockWait(ctx context.Context) (context.Context, *lockWait) {
	w := &lockWait{}
	return context.WithValue(ctx, lockWaitKey{}, w), w
}

// LockWaited tells the Service whose call ctx is that a transaction asked for
// its lock at since and has it now, or was refused it. A Store calls it where
// it can tell that wait from the rest.
func LockWaited(ctx context.Context, since time.Time) {
	if w, ok := ctx.Value(lockWaitKey{}).(*lockWait); ok {
		w.nanos.Add(int64(time.Since(since)))
	}
}
