package app

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func stopped() *fakeBatcher { return &fakeBatcher{stopped: true} }

// Seen red with: a delay before the first batch.
func TestALoneRequestIsNotDelayed(t *testing.T) {
	db := &fakeBatcher{}
	combining(t, db, Config{}, func(t *testing.T, s *Service) {
		start := time.Now()
		a := ask(t.Context(), s, reserve(1, "alice"))
		requireAnswered(t, nil, a)
		require.Equal(t, Reservation{SlotID: 1, UserID: "alice"}, a.r)
		require.Zero(t, time.Since(start))
		require.Equal(t, [][]Op{{reserve(1, "alice")}}, db.batches)
	})
}

// Seen red with: the queue taken from its end.
func TestWhatWaitsIsWrittenTogetherInOrder(t *testing.T) {
	db := stopped()
	combining(t, db, Config{}, func(t *testing.T, s *Service) {
		ops := []Op{reserve(1, "a"), cancel(1, "b"), reserve(2, "a"), reserve(1, "c"), confirm(3, "a")}
		first := ask(t.Context(), s, reserve(1, "first"))
		var rest []*answer
		for _, op := range ops {
			rest = append(rest, ask(t.Context(), s, op))
		}
		db.turn()
		requireAnswered(t, nil, first)
		require.Equal(t, ops, db.batches[1])
		require.False(t, rest[0].done)
		db.turn()
		requireAnswered(t, nil, rest...)
		require.Len(t, db.batches, 2)
	})
}

// Seen red with: the outcomes given out from the last to the first.
func TestEachGetsItsOwnOutcome(t *testing.T) {
	db := stopped()
	db.write = func(ops []Op, _ bool) ([]Outcome, error) {
		out := fine(ops)
		for i, op := range ops {
			if op.UserID == "late" {
				out[i] = Outcome{Err: ErrSlotFull}
			}
		}
		return out, nil
	}
	combining(t, db, Config{}, func(t *testing.T, s *Service) {
		ask(t.Context(), s, reserve(9, "first"))
		a := ask(t.Context(), s, reserve(1, "a"))
		b := ask(t.Context(), s, reserve(1, "late"))
		c := ask(t.Context(), s, cancel(1, "c"))
		db.turn()
		db.turn()
		requireAnswered(t, nil, a, c)
		requireAnswered(t, ErrSlotFull, b)
		require.Equal(t, "a", a.r.UserID)
	})
}

// Two batches at a time never share a slot. Seen red with: taken not looked at.
func TestASlotIsInOneBatchAtATime(t *testing.T) {
	db := stopped()
	combining(t, db, Config{Batches: 2}, func(t *testing.T, s *Service) {
		ask(t.Context(), s, reserve(1, "a"))
		second := ask(t.Context(), s, reserve(1, "b"))
		ask(t.Context(), s, reserve(2, "a"))
		third := ask(t.Context(), s, reserve(1, "c"))
		require.Equal(t, [][]Op{{reserve(1, "a")}, {reserve(2, "a")}}, db.batches)
		db.turn()
		db.turn()
		require.Equal(t, []Op{reserve(1, "b"), reserve(1, "c")}, db.batches[2])
		db.turn()
		requireAnswered(t, nil, second, third)
	})
}

// See Batcher.Write. Seen red with: the op left in the batch; a later op of
// that slot let past it; the whole queue held up behind it.
func TestWhatFollowsAReserveOfItsOwnComesLater(t *testing.T) {
	for _, act := range []func(int64, string) Op{cancel, confirm} {
		db := stopped()
		combining(t, db, Config{}, func(t *testing.T, s *Service) {
			ask(t.Context(), s, reserve(9, "first"))
			for _, op := range []Op{
				cancel(1, "a"), reserve(1, "a"), reserve(1, "b"), act(1, "a"), reserve(1, "c"), reserve(2, "a"), act(2, "b"),
			} {
				ask(t.Context(), s, op)
			}
			db.turn()
			db.turn()
			require.Equal(t, [][]Op{
				{reserve(9, "first")},
				{cancel(1, "a"), reserve(1, "a"), reserve(1, "b"), reserve(2, "a"), act(2, "b")},
				{act(1, "a"), reserve(1, "c")},
			}, db.batches)
		})
	}
}

func TestABatchIsBounded(t *testing.T) {
	db := stopped()
	combining(t, db, Config{Queue: 2 * maxBatch}, func(t *testing.T, s *Service) {
		ask(t.Context(), s, reserve(9, "first"))
		for i := range maxBatch + 3 {
			go func() { _, _ = s.do(t.Context(), reserve(int64(i%7+1), fmt.Sprint(i))) }()
		}
		synctest.Wait()
		db.turn()
		require.Len(t, db.batches[1], maxBatch)
		db.turn()
		require.Len(t, db.batches[2], 3)
	})
}

// Who could not be answered in time is refused before the batch, not after it.
// Seen red with: errTooLate not looked for (the old one was written, too).
func TestWhatWouldComeTooLateIsNotWritten(t *testing.T) {
	db := stopped()
	combining(t, db, Config{CallTimeout: 10 * time.Second}, func(t *testing.T, s *Service) {
		first := ask(t.Context(), s, reserve(9, "first"))
		old := ask(t.Context(), s, reserve(1, "old"))
		after(3 * time.Second)
		young := ask(t.Context(), s, reserve(1, "young"))
		after(5 * time.Second)
		db.turn() // the first took 8 s, of which 2.5 count: old has 2 left and young 5
		requireAnswered(t, nil, first)
		requireAnswered(t, ErrBusy, old)
		require.Equal(t, [][]Op{{reserve(9, "first")}, {reserve(1, "young")}}, db.batches)
		db.turn()
		requireAnswered(t, nil, young)
	})
}

// A client that left before its batch began has nothing written. Seen red
// with: gone and the context not looked at.
func TestWhoLeftIsDropped(t *testing.T) {
	db := stopped()
	combining(t, db, Config{CallTimeout: time.Second}, func(t *testing.T, s *Service) {
		ask(t.Context(), s, reserve(9, "first"))
		ctx, leave := context.WithCancel(t.Context())
		left := ask(ctx, s, reserve(1, "left"))
		leave()
		synctest.Wait()
		requireAnswered(t, ErrBusy, left)
		requireAnswered(t, context.Canceled, left)
		after(300 * time.Millisecond)
		late := ask(t.Context(), s, reserve(1, "late"))
		after(900 * time.Millisecond)
		stays := ask(t.Context(), s, reserve(1, "stays"))
		after(100 * time.Millisecond)
		requireAnswered(t, ErrBusy, late) // by the Service's own bound
		db.turn()
		require.Equal(t, []Op{reserve(1, "stays")}, db.batches[1])
		db.turn()
		requireAnswered(t, nil, stays)
	})
}

// severed is the context of a client whose connection tells that it is gone
// only when it is asked.
type severed struct {
	context.Context
	gone *atomic.Bool
}

func (c severed) Err() error {
	if c.gone.Load() {
		return context.Canceled
	}
	return nil
}

// Seen red with: the caller not asked in dropped.
func TestWhoseConnectionIsGoneIsDropped(t *testing.T) {
	db := stopped()
	combining(t, db, Config{}, func(t *testing.T, s *Service) {
		ask(t.Context(), s, reserve(9, "first"))
		var gone atomic.Bool
		left := ask(severed{context.Background(), &gone}, s, reserve(1, "left"))
		stays := ask(t.Context(), s, reserve(1, "stays"))
		gone.Store(true)
		after(2 * askAfter)
		db.turn()
		requireAnswered(t, context.Canceled, left)
		require.Equal(t, []Op{reserve(1, "stays")}, db.batches[1])
		db.turn()
		requireAnswered(t, nil, stays)
	})
}

// What has begun is written, so its client is told what became of it. Seen red
// with: leave that does not look at begun.
func TestWhoLeavesAfterTheBatchBeganIsTold(t *testing.T) {
	db := stopped()
	combining(t, db, Config{}, func(t *testing.T, s *Service) {
		ctx, leave := context.WithCancel(t.Context())
		a := ask(ctx, s, reserve(1, "a"))
		leave()
		synctest.Wait()
		require.False(t, a.done)
		db.turn()
		requireAnswered(t, nil, a)
	})
}

// Seen red with: the bound not looked at.
func TestAFullQueueIsBusyAtOnce(t *testing.T) {
	db := stopped()
	combining(t, db, Config{Queue: 3}, func(t *testing.T, s *Service) {
		ask(t.Context(), s, reserve(9, "first")) // begun, waits no more
		var waiting []*answer
		for i := range 3 {
			waiting = append(waiting, ask(t.Context(), s, reserve(1, fmt.Sprint(i))))
		}
		start := time.Now()
		requireAnswered(t, ErrBusy, ask(t.Context(), s, reserve(2, "late")))
		require.Zero(t, time.Since(start))
		db.turn()
		db.turn()
		requireAnswered(t, nil, waiting...)
		next := ask(t.Context(), s, reserve(2, "late"))
		db.turn()
		requireAnswered(t, nil, next)
	})
}

// Seen red with: close that does not wait.
func TestCloseAnswersWhatWaits(t *testing.T) {
	db := stopped()
	combining(t, db, Config{Batches: 2}, func(t *testing.T, s *Service) {
		var waiting []*answer
		for i := range 6 {
			waiting = append(waiting, ask(t.Context(), s, reserve(int64(i%2+1), fmt.Sprint(i))))
		}
		closed := false
		go func() { s.Close(); closed = true }()
		synctest.Wait()
		require.False(t, closed)
		requireAnswered(t, ErrBusy, ask(t.Context(), s, reserve(3, "late")))
		for range 4 { // two batches under way, one of what waits for each
			db.turn()
		}
		require.True(t, closed)
		requireAnswered(t, nil, waiting...)
	})
}
