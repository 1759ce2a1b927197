package app

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// pair asks for "good" and "bad" of slots 1 and 2 such that they share a batch.
func pair(t *testing.T, db *fakeBatcher, s *Service) (good, bad *answer) {
	t.Helper()
	first := ask(t.Context(), s, reserve(9, "first"))
	good = ask(t.Context(), s, reserve(1, "good"))
	bad = ask(t.Context(), s, reserve(2, "bad"))
	db.turn()
	requireAnswered(t, nil, first)
	require.Equal(t, []Op{reserve(1, "good"), reserve(2, "bad")}, db.batches[1])
	return good, bad
}

func spoiling(err error) func([]Op, bool) ([]Outcome, error) {
	return func(ops []Op, _ bool) ([]Outcome, error) {
		for _, op := range ops {
			if op.UserID == "bad" {
				return nil, err
			}
		}
		return fine(ops), nil
	}
}

// One op that the database chokes on does not fail its neighbours. Seen red
// with: the batch's error given to all.
func TestOneBadOpDoesNotFailItsNeighbours(t *testing.T) {
	db := stopped()
	db.write = spoiling(errDriver)
	db.single = func(op Op) error {
		if op.UserID == "bad" {
			return errDriver
		}
		return nil
	}
	combining(t, db, Config{}, func(t *testing.T, s *Service) {
		good, bad := pair(t, db, s)
		db.turn()
		requireAnswered(t, nil, good)
		requireAnswered(t, errDriver, bad)
		require.Equal(t, db.batches[1], db.singles)
	})
}

// A database that is away is not asked again for each. Seen red with: the
// exceptions in answerFailed left out.
func TestADatabaseThatIsAwayIsAskedOnce(t *testing.T) {
	for _, err := range []error{ErrUnavailable, ErrBusy} {
		db := stopped()
		db.write = spoiling(err)
		combining(t, db, Config{}, func(t *testing.T, s *Service) {
			good, bad := pair(t, db, s)
			db.turn()
			requireAnswered(t, err, good, bad)
			require.Empty(t, db.singles)
		})
	}
}

// Seen red with: a batch not tried again; one that is tried without end.
func TestABatchThatWasGivenUpIsTriedAgain(t *testing.T) {
	left := 0 // how often the batch is yet to be given up
	db := stopped()
	db.write = func(ops []Op, _ bool) ([]Outcome, error) {
		if left--; left >= 0 {
			return nil, transient()
		}
		return fine(ops), nil
	}
	combining(t, db, Config{Retries: 3}, func(t *testing.T, s *Service) {
		good, bad := pair(t, db, s)
		left = 3
		db.start()
		after(time.Second)
		requireAnswered(t, nil, good, bad)
		require.Len(t, db.batches, 1+4)

		left = 1000
		alone := ask(t.Context(), s, reserve(1, "unlucky"))
		after(time.Second)
		requireAnswered(t, ErrBusy, alone)
		left = 0
		requireAnswered(t, nil, ask(t.Context(), s, reserve(1, "next"))) // the slot was let go
	})
}

// Case 27 for a batch: it may be written, so each looks for its own work. Seen
// red with: the batch written again; its ops tried as if nothing had been.
func TestABatchOfUnknownOutcome(t *testing.T) {
	db := stopped()
	db.write = spoiling(unknown())
	db.single = func(op Op) error {
		switch op.UserID {
		case "good":
			return ErrAlreadyReserved // it was written
		case "gone":
			return ErrReservationNotFound
		}
		return ErrSlotFull
	}
	combining(t, db, Config{}, func(t *testing.T, s *Service) {
		ask(t.Context(), s, reserve(9, "first"))
		good := ask(t.Context(), s, reserve(1, "good"))
		bad := ask(t.Context(), s, reserve(2, "bad"))
		gone := ask(t.Context(), s, cancel(1, "gone"))
		db.turn()
		db.turn()
		after(time.Second)
		requireAnswered(t, nil, good, gone)
		require.Equal(t, Reservation{SlotID: 1, UserID: "good"}, good.r)
		requireAnswered(t, ErrSlotFull, bad)
		require.Len(t, db.batches, 2)
	})
}

func held() *atomic.Bool {
	locked := &atomic.Bool{}
	locked.Store(true)
	return locked
}

// locking is a database where another program has slot 1 locked while locked
// is set: a Write that waits does so for a second, as an engine's lock time-out.
func locking(locked *atomic.Bool) func([]Op, bool) ([]Outcome, error) {
	return func(ops []Op, wait bool) ([]Outcome, error) {
		if wait && locked.Load() {
			time.Sleep(time.Second)
			if locked.Load() {
				return nil, transient()
			}
		}
		out := fine(ops)
		for i, op := range ops {
			if op.SlotID == 1 && locked.Load() {
				out[i] = Outcome{Err: transient()}
			}
		}
		return out, nil
	}
}

// Another program has slot 1 locked: the others go on, and its own requests
// are written in their order when it is let go. Seen red with: the locked ops
// written by the worker itself; the slot let go while they are aside.
func TestALockedSlotIsWrittenAside(t *testing.T) {
	locked := held()
	db := &fakeBatcher{write: locking(locked)}
	combining(t, db, Config{}, func(t *testing.T, s *Service) {
		db.stop()
		ask(t.Context(), s, reserve(9, "first"))
		one := ask(t.Context(), s, reserve(1, "one"))
		two := ask(t.Context(), s, reserve(1, "two"))
		other := ask(t.Context(), s, reserve(2, "other"))
		db.start()
		synctest.Wait()
		requireAnswered(t, nil, other)
		require.False(t, one.done || two.done)
		start := time.Now()
		three := ask(t.Context(), s, reserve(1, "three"))
		requireAnswered(t, nil, ask(t.Context(), s, reserve(2, "more")))
		require.Zero(t, time.Since(start), "other slots don't wait")
		locked.Store(false)
		after(2 * time.Second)
		requireAnswered(t, nil, one, two, three)
		order := []Op{}
		for _, b := range db.batches[2:] {
			for _, op := range b {
				if op.SlotID == 1 {
					order = append(order, op)
				}
			}
		}
		require.Equal(t, []Op{reserve(1, "one"), reserve(1, "two"), reserve(1, "three")}, order)
	})
}

// Closing waits for what is written aside and for what waits behind it. Seen
// red with: workers that end as soon as they find nothing to take.
func TestCloseWaitsForALockedSlot(t *testing.T) {
	locked := held()
	db := &fakeBatcher{write: locking(locked)}
	combining(t, db, Config{}, func(t *testing.T, s *Service) {
		one := ask(t.Context(), s, reserve(1, "one"))
		two := ask(t.Context(), s, reserve(1, "two"))
		var closed atomic.Bool
		go func() {
			s.Close()
			closed.Store(true)
		}()
		synctest.Wait()
		require.False(t, closed.Load() || one.done || two.done)
		locked.Store(false)
		after(2 * time.Second)
		requireAnswered(t, nil, one, two)
		require.True(t, closed.Load())
	})
}

// A slot that stays locked is busy in time, and served once it is let go.
// Seen red with: no bound for what is written aside.
func TestALockThatStaysIsBusy(t *testing.T) {
	locked := held()
	db := &fakeBatcher{write: locking(locked)}
	combining(t, db, Config{CallTimeout: 3 * time.Second, Retries: 100}, func(t *testing.T, s *Service) {
		start := time.Now()
		stays := ask(t.Context(), s, reserve(1, "stays"))
		after(10 * time.Second)
		require.True(t, stays.done, "answered after %v", time.Since(start))
		requireAnswered(t, ErrBusy, stays)
		locked.Store(false)
		next := ask(t.Context(), s, reserve(1, "next"))
		after(10 * time.Second)
		requireAnswered(t, nil, next)
	})
}

// A panic is the answer to the request that it came of; the others are written,
// and the next one is. Seen red with: app.guarded calling try bare.
func TestAPanicInABatch(t *testing.T) {
	db := stopped()
	panics := func(op Op) bool { return op.UserID == "bad" }
	db.write = func(ops []Op, _ bool) ([]Outcome, error) {
		if slices.ContainsFunc(ops, panics) {
			panic("a bug")
		}
		return fine(ops), nil
	}
	db.single = func(op Op) error {
		if panics(op) {
			panic("a bug")
		}
		return nil
	}
	combining(t, db, Config{}, func(t *testing.T, s *Service) {
		good, bad := pair(t, db, s)
		db.turn()
		requireAnswered(t, nil, good)
		require.True(t, bad.done)
		require.ErrorContains(t, bad.err, "panic: a bug")
		db.start()
		alone := ask(t.Context(), s, reserve(1, "bad"))
		require.ErrorContains(t, alone.err, "panic: a bug", "in its own goroutine, too")
		requireAnswered(t, nil, ask(t.Context(), s, reserve(1, "next")))
	})
}
