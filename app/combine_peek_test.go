package app

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// fullSlot answers as a slot 1 that is full until room is set.
func fullSlot(room *bool) *fakeBatcher {
	return &fakeBatcher{
		write: func(ops []Op, _ bool) ([]Outcome, error) {
			out := fine(ops)
			for i, op := range ops {
				if op.SlotID == 1 && op.Action == ActReserve && !*room {
					out[i] = Outcome{Err: ErrSlotFull}
				}
			}
			return out, nil
		},
		peek: func(ops []Op) ([]error, error) {
			errs := make([]error, len(ops))
			for i := range errs {
				if !*room {
					errs[i] = ErrSlotFull
				}
			}
			return errs, nil
		},
	}
}

// Seen red with: the hint taken for an answer; the hint kept although there is
// room again.
func TestAFullSlotIsPeekedAt(t *testing.T) {
	room := false
	db := fullSlot(&room)
	combining(t, db, Config{}, func(t *testing.T, s *Service) {
		requireAnswered(t, ErrSlotFull, ask(t.Context(), s, reserve(1, "a")))
		require.Len(t, db.batches, 1)
		requireAnswered(t, ErrSlotFull, ask(t.Context(), s, reserve(1, "b")))
		require.Equal(t, [][]Op{{reserve(1, "b")}}, db.peeks)
		require.Len(t, db.batches, 1, "refused without a lock")

		requireAnswered(t, nil, ask(t.Context(), s, confirm(1, "x")))
		requireAnswered(t, nil, ask(t.Context(), s, reserve(2, "a")))
		require.Len(t, db.peeks, 1, "only a Reserve of that slot peeks")

		room = true // by a hold that expired, or another program
		requireAnswered(t, nil, ask(t.Context(), s, reserve(1, "c")))
		require.Len(t, db.peeks, 2)
		require.Equal(t, []Op{reserve(1, "c")}, db.batches[len(db.batches)-1])
		requireAnswered(t, nil, ask(t.Context(), s, reserve(1, "d")))
		require.Len(t, db.peeks, 2, "the hint is forgotten")
	})
}

// A cancel that came first is judged first, also when it still waits. Seen red
// with: the waiting writes of the slot not looked at.
func TestAReserveWaitsBehindACancel(t *testing.T) {
	room := false
	db := fullSlot(&room)
	combining(t, db, Config{}, func(t *testing.T, s *Service) {
		ask(t.Context(), s, reserve(1, "a"))
		db.stop()
		ask(t.Context(), s, reserve(9, "first"))
		freed := ask(t.Context(), s, cancel(1, "x"))
		next := ask(t.Context(), s, reserve(1, "b"))
		require.Empty(t, db.peeks)
		room = true
		db.turn()
		db.turn()
		requireAnswered(t, nil, freed, next)
		require.Equal(t, []Op{cancel(1, "x"), reserve(1, "b")}, db.batches[len(db.batches)-1])
	})
}

// Seen red with: a failed peek that answers.
func TestAPeekThatFailsLeavesItToTheWrite(t *testing.T) {
	room := false
	db := fullSlot(&room)
	combining(t, db, Config{}, func(t *testing.T, s *Service) {
		ask(t.Context(), s, reserve(1, "a"))
		db.peek = func([]Op) ([]error, error) { return nil, ErrUnavailable }
		requireAnswered(t, ErrSlotFull, ask(t.Context(), s, reserve(1, "b")))
		require.Len(t, db.batches, 2)
	})
}

// A read that hangs takes nobody's time but its own. Seen red with: a peek that
// has a call's whole time from its beginning, as one behind a slow one begins late.
func TestAPeekEndsWithItsClients(t *testing.T) {
	room := false
	db := fullSlot(&room)
	combining(t, db, Config{CallTimeout: 5 * time.Second}, func(t *testing.T, s *Service) {
		ask(t.Context(), s, reserve(1, "a"))
		db.deaf = true
		first := ask(t.Context(), s, reserve(1, "b"))
		after(time.Second)
		second := ask(t.Context(), s, reserve(1, "c"))
		after(4 * time.Second)
		require.True(t, first.done)
		require.Error(t, first.err) // busy, or full where the write still had its turn
		after(time.Second)
		require.True(t, second.done)
		require.Error(t, second.err)
	})
}

// Who was looked at and sent on to be written may leave while waiting for that.
// Seen red with: such a request still taken for begun.
func TestAfterAPeekAClientMayLeave(t *testing.T) {
	room := false
	db := fullSlot(&room)
	combining(t, db, Config{CallTimeout: 5 * time.Second}, func(t *testing.T, s *Service) {
		ask(t.Context(), s, reserve(1, "a"))
		db.stop()
		ask(t.Context(), s, reserve(9, "slow"))
		room = true
		next := ask(t.Context(), s, reserve(1, "b"))
		require.Len(t, db.peeks, 1)
		after(5 * time.Second)
		requireAnswered(t, ErrBusy, next)
	})
}

// Clients that left in front of a full slot don't hold up those behind them.
// Seen red with: an empty batch taken for an empty queue.
func TestManyWhoLeftBeforeAFullSlot(t *testing.T) {
	room := false
	db := fullSlot(&room)
	combining(t, db, Config{Queue: 2 * maxBatch}, func(t *testing.T, s *Service) {
		ask(t.Context(), s, reserve(1, "a"))
		peek, turns := db.peek, make(chan struct{})
		db.peek = func(ops []Op) ([]error, error) {
			<-turns
			return peek(ops)
		}
		slow := ask(t.Context(), s, reserve(1, "slow"))
		ctx, leave := context.WithCancel(t.Context())
		for i := range maxBatch {
			go func() { _, _ = s.do(ctx, reserve(1, fmt.Sprint(i))) }()
		}
		synctest.Wait()
		stays := ask(t.Context(), s, reserve(1, "stays"))
		leave()
		synctest.Wait()
		start := time.Now()
		close(turns)
		synctest.Wait()
		requireAnswered(t, ErrSlotFull, slow, stays)
		require.Zero(t, time.Since(start))
	})
}
