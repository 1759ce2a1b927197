package app

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeBatcher is a Batcher whose answers a test scripts; the queue before it
// is what is tested. In a synctest bubble everything else is at rest when it
// appends, so that batches and peeks need no lock.
type fakeBatcher struct {
	Store
	stopped bool          // makes turns at the start
	turns   chan struct{} // if not nil, each Write takes one before it answers
	deaf    bool          // no Peek answers in its time
	batches [][]Op        // as Write got them, in order of their beginning
	peeks   [][]Op
	singles []Op
	write   func(ops []Op, wait bool) ([]Outcome, error) // nil: all succeed
	peek    func(ops []Op) ([]error, error)              // nil: all seem possible
	single  func(op Op) error                            // nil: succeeds
}

func (f *fakeBatcher) Write(_ context.Context, ops []Op, wait bool) ([]Outcome, error) {
	f.batches = append(f.batches, ops)
	if f.turns != nil {
		<-f.turns
	}
	if f.write != nil {
		return f.write(ops, wait)
	}
	return fine(ops), nil
}

func fine(ops []Op) []Outcome {
	out := make([]Outcome, len(ops))
	for i, op := range ops {
		if op.Action != ActCancel {
			out[i].Reservation = Reservation{SlotID: op.SlotID, UserID: op.UserID}
		}
	}
	return out
}

func (f *fakeBatcher) Peek(ctx context.Context, ops []Op) ([]error, error) {
	f.peeks = append(f.peeks, ops)
	if f.deaf {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if f.peek == nil {
		return make([]error, len(ops)), nil
	}
	return f.peek(ops)
}

func (f *fakeBatcher) alone(op Op) (Reservation, error) {
	f.singles = append(f.singles, op)
	if f.single != nil {
		if err := f.single(op); err != nil {
			return Reservation{}, err
		}
	}
	return fine([]Op{op})[0].Reservation, nil
}

func (f *fakeBatcher) Reserve(_ context.Context, r NewReservation) (Reservation, error) {
	return f.alone(r.op())
}

func (f *fakeBatcher) Confirm(_ context.Context, slotID int64, userID string) (Reservation, error) {
	return f.alone(Op{Action: ActConfirm, SlotID: slotID, UserID: userID})
}

func (f *fakeBatcher) Cancel(_ context.Context, slotID int64, userID string) error {
	_, err := f.alone(Op{Action: ActCancel, SlotID: slotID, UserID: userID})
	return err
}

func (f *fakeBatcher) Reservation(_ context.Context, slotID int64, userID string) (Reservation, error) {
	return Reservation{SlotID: slotID, UserID: userID}, nil
}

// counter is an Observer that counts who waits.
type counter struct {
	silent
	waiting atomic.Int64
}

func (c *counter) Waiting(delta int) { c.waiting.Add(int64(delta)) }

// combining runs f in a bubble over a Service that combines, and sees at the
// end that all were answered and nothing is left behind in the books.
func combining(t *testing.T, db *fakeBatcher, cfg Config, f func(t *testing.T, s *Service)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if db.stopped {
			db.stop()
		}
		seen := &counter{}
		cfg.Combine, cfg.Observer = true, seen
		cfg.Batches = max(1, cfg.Batches) // one at a time, unless a test is about several
		s := NewService(db, cfg)
		f(t, s)
		if db.turns != nil {
			db.start()
		}
		s.Close()
		require.Zero(t, seen.waiting.Load(), "requests that wait")
		require.Empty(t, s.combiner.taken)
		require.Empty(t, s.combiner.writer)
		require.Empty(t, s.combiner.writes.queue)
		require.Empty(t, s.combiner.peeks.queue)
	})
}

// answer is what a client is told, once it is.
type answer struct {
	done bool
	r    Reservation
	err  error
}

// ask sends op to the Service and returns when it waits or is answered.
func ask(ctx context.Context, s *Service, op Op) *answer {
	a := &answer{}
	go func() {
		a.r, a.err = s.do(ctx, op)
		a.done = true
	}()
	synctest.Wait()
	return a
}

func reserve(slotID int64, user string) Op { return Op{SlotID: slotID, UserID: user} }
func cancel(slotID int64, user string) Op {
	return Op{Action: ActCancel, SlotID: slotID, UserID: user}
}
func confirm(slotID int64, user string) Op {
	return Op{Action: ActConfirm, SlotID: slotID, UserID: user}
}

// stop holds each Write up until its turn comes; start lets them all go.
func (f *fakeBatcher) stop() { f.turns = make(chan struct{}) }

func (f *fakeBatcher) start() {
	turns := f.turns
	f.turns = nil
	close(turns)
}

// turn lets one Write answer and waits until all is at rest.
func (f *fakeBatcher) turn() {
	f.turns <- struct{}{}
	synctest.Wait()
}

// after lets d pass and waits until all is at rest.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func requireAnswered(t *testing.T, want error, answers ...*answer) {
	t.Helper()
	for i, a := range answers {
		require.True(t, a.done, "answer %d is there", i)
		require.ErrorIs(t, a.err, want, "answer %d", i)
	}
}
