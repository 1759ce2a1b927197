package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

// batch is about stores that are an app.Batcher.
func (s suite) batch(t *testing.T) {
	s.batcher(t, "each is judged in its turn", batchInOrder)
	s.batcher(t, "capacity is reached within a batch", batchFills)
	s.batcher(t, "a cancelled place is given on within a batch", batchGivesOn)
	s.batcher(t, "many slots, an unknown one among them", batchOfManySlots)
	s.batcher(t, "ids ascend in the order of the batch", batchOrder)
	s.batcher(t, "nothing to do", batchEmpty)
	s.batcher(t, "a peek refuses what a write would", peekRefuses)
	t.Run("holds are kept, confirmed and refused too late", func(t *testing.T) {
		if s.opts.NoHolds {
			t.Skip("these tables cannot keep holds")
		}
		s.batcher(t, "together", batchOfHolds)
	})
	t.Run("the same as one by one", func(t *testing.T) {
		for _, seed := range []uint64{1, 2} {
			s.batcher(t, fmt.Sprint("seed ", seed), func(t *testing.T, db app.Store, b app.Batcher) {
				sameAsOneByOne(t, db, b, s.open(t), seed, !s.opts.NoHolds)
			})
		}
	})
	s.batcher(t, "a slot locked elsewhere holds up no other", func(t *testing.T, db app.Store, b app.Batcher) {
		lockedSlot(t, db, b, s.locker(t, db))
	})
	s.batcher(t, "nor does it through a Service", func(t *testing.T, db app.Store, _ app.Batcher) {
		lockedSlotAtService(t, db, s.locker(t, db))
	})
	s.batcher(t, "a peek sees what was answered before it", func(t *testing.T, db app.Store, b app.Batcher) {
		peekAfterCancel(t, db, b, s.reopen(t, db))
	})
}

func (s suite) batcher(t *testing.T, name string, f func(t *testing.T, db app.Store, b app.Batcher)) {
	s.check(t, name, func(t *testing.T, db app.Store) {
		b, can := db.(app.Batcher)
		if !can {
			t.Skip("SKIPPED: this store is no app.Batcher")
		}
		f(t, db, b)
	})
}

func reserveOp(slotID int64, user string) app.Op { return app.Op{SlotID: slotID, UserID: user} }
func confirmOp(slotID int64, user string) app.Op {
	return app.Op{Action: app.ActConfirm, SlotID: slotID, UserID: user}
}
func cancelOp(slotID int64, user string) app.Op {
	return app.Op{Action: app.ActCancel, SlotID: slotID, UserID: user}
}

// write writes the ops and requires their outcomes to be want, one each.
func write(t *testing.T, b app.Batcher, ops []app.Op, want ...error) []app.Outcome {
	t.Helper()
	outcomes, err := again(t.Context(), func() ([]app.Outcome, error) { return b.Write(t.Context(), ops, true) })
	ok(t, err)
	require.Len(t, outcomes, len(ops))
	require.Len(t, want, len(ops))
	for i, o := range outcomes {
		if want[i] == nil {
			require.NoError(t, o.Err, "op %d", i)
			continue
		}
		require.ErrorIs(t, o.Err, want[i], "op %d", i)
		require.Zero(t, o.Reservation)
	}
	return outcomes
}

// Seen red with: a reservation not noted for the next op; a reservation beside
// a refusal.
func batchInOrder(t *testing.T, db app.Store, b app.Batcher) {
	slot, full, started := newSlot(t, db, 2), newSlot(t, db, 1), startedSlot(t, db, 2)
	mine := reserve(t, db, full.ID, "alice")
	taken := past().Add(123456 * instant)
	late := reserveOp(started.ID, "bob")
	late.AllowPast = true
	old := reserveOp(slot.ID, "bob")
	old.CreatedAt = taken
	got := write(t, b, []app.Op{
		reserveOp(full.ID, "bob"), reserveOp(full.ID, "alice"), confirmOp(full.ID, "alice"), confirmOp(full.ID, "bob"),
		reserveOp(started.ID, "alice"), late, reserveOp(started.ID, "bob"),
		reserveOp(slot.ID, "alice"), old, reserveOp(slot.ID, "alice"), reserveOp(slot.ID, "carol"), cancelOp(slot.ID, "carol"),
		cancelOp(full.ID, "alice"), cancelOp(full.ID, "alice"), confirmOp(full.ID, "alice"),
	},
		app.ErrSlotFull, app.ErrAlreadyReserved, nil, app.ErrReservationNotFound,
		app.ErrSlotStarted, nil, app.ErrAlreadyReserved,
		nil, nil, app.ErrAlreadyReserved, app.ErrSlotFull, app.ErrReservationNotFound,
		nil, app.ErrReservationNotFound, app.ErrReservationNotFound,
	)
	require.Equal(t, mine, got[2].Reservation)
	require.Zero(t, got[12].Reservation, "a cancellation has none")
	require.Equal(t, taken, got[8].Reservation.CreatedAt)
	require.Equal(t, []app.Reservation{got[7].Reservation, got[8].Reservation}, live(t, db, slot.ID))
	require.Equal(t, []app.Reservation{got[5].Reservation}, live(t, db, started.ID))
	reserved(t, db, full.ID, 0)
	clean(t, db)
}

// Seen red with: places not counted up within the batch.
func batchFills(t *testing.T, db app.Store, b app.Batcher) {
	slot := newSlot(t, db, 25)
	reserve(t, db, slot.ID, "first")
	var ops []app.Op
	var want []error
	for i := range 60 {
		ops = append(ops, reserveOp(slot.ID, fmt.Sprint("user ", i)))
		want = append(want, map[bool]error{true: nil, false: app.ErrSlotFull}[i < 24])
	}
	write(t, b, ops, want...)
	reserved(t, db, slot.ID, 25)
	for i := range ops {
		want[i] = map[bool]error{true: app.ErrAlreadyReserved, false: app.ErrSlotFull}[i < 24]
	}
	write(t, b, ops, want...)
	reserved(t, db, slot.ID, 25)
	clean(t, db)
}

// In a full slot, so that the database's own check would refuse the insert if
// it came before the deletion. Seen red with: inserts before deletions; places
// not counted down within the batch.
func batchGivesOn(t *testing.T, db app.Store, b app.Batcher) {
	slot, other := newSlot(t, db, 1), newSlot(t, db, 1)
	old := reserve(t, db, slot.ID, "alice")
	reserve(t, db, other.ID, "alice")
	got := write(t, b, []app.Op{
		reserveOp(slot.ID, "bob"), cancelOp(slot.ID, "alice"), reserveOp(slot.ID, "alice"), reserveOp(slot.ID, "bob"),
		cancelOp(other.ID, "alice"), reserveOp(other.ID, "bob"),
	}, app.ErrSlotFull, nil, nil, app.ErrSlotFull, nil, nil)
	require.NotEqual(t, old.ID, got[2].Reservation.ID, "a new one of the same user")
	require.Equal(t, []app.Reservation{got[2].Reservation}, live(t, db, slot.ID))
	require.Equal(t, []string{"bob"}, users(live(t, db, other.ID)))
	clean(t, db)
}

// Seen red with: an unknown slot that fails the batch.
func batchOfManySlots(t *testing.T, db app.Store, b app.Batcher) {
	var ops []app.Op
	var want []error
	var slots []app.Slot
	for range 20 {
		slots = append(slots, newSlot(t, db, 2))
	}
	for i := len(slots) - 1; i >= 0; i-- { // ids descend
		for j := range 3 {
			ops = append(ops, reserveOp(slots[i].ID, fmt.Sprint("user ", j)))
			want = append(want, map[bool]error{true: nil, false: app.ErrSlotFull}[j < 2])
		}
		for _, op := range []app.Op{reserveOp(999999, "alice"), cancelOp(0, "alice"), confirmOp(-1, "alice")} {
			ops, want = append(ops, op), append(want, app.ErrSlotNotFound)
		}
	}
	write(t, b, ops, want...)
	for _, slot := range slots {
		require.Equal(t, []string{"user 0", "user 1"}, users(live(t, db, slot.ID)))
		reserved(t, db, slot.ID, 2)
	}
	write(t, b, []app.Op{reserveOp(999999, "alice")}, app.ErrSlotNotFound)
	clean(t, db)
}

// What is listed oldest first is what came first. Seen red with: rows inserted
// by user.
func batchOrder(t *testing.T, db app.Store, b app.Batcher) {
	slot, other := newSlot(t, db, 500), newSlot(t, db, 500)
	var ops []app.Op
	var names []string
	for i := range 200 {
		name := fmt.Sprint("user ", (i*7919)%200)
		names = append(names, name)
		op := reserveOp(slot.ID, name)
		op.CreatedAt = at(-i)
		ops = append(ops, op, reserveOp(other.ID, name))
	}
	got := write(t, b, ops, make([]error, len(ops))...)
	require.Equal(t, names, users(live(t, db, slot.ID)))
	require.Equal(t, names, users(live(t, db, other.ID)))
	for i, r := range live(t, db, slot.ID) {
		require.Equal(t, got[2*i].Reservation, r)
	}
}

func batchEmpty(t *testing.T, db app.Store, b app.Batcher) {
	outcomes, err := b.Write(t.Context(), nil, true)
	ok(t, err)
	require.Empty(t, outcomes)
	refusals, err := b.Peek(t.Context(), nil)
	ok(t, err)
	require.Empty(t, refusals)
}

// Seen red with: expired holds looked for only where all ops confirm; the
// expiry lost.
func batchOfHolds(t *testing.T, db app.Store, b app.Batcher) {
	slot, other := newSlot(t, db, 3), newSlot(t, db, 1)
	op := func(slotID int64, user string, d time.Duration) app.Op {
		o := reserveOp(slotID, user)
		o.Hold = d
		return o
	}
	got := write(t, b, []app.Op{
		op(slot.ID, "late", time.Second), op(slot.ID, "early", time.Second), op(slot.ID, "kept", time.Hour), op(slot.ID, "none", time.Hour),
		op(other.ID, "late", time.Second), reserveOp(other.ID, "bob"),
	}, nil, nil, nil, app.ErrSlotFull, nil, app.ErrSlotFull)
	require.Equal(t, app.Held, got[0].Reservation.Status)
	require.InDelta(t, time.Second, got[0].Reservation.ExpiresAt.Sub(got[0].Reservation.CreatedAt), float64(time.Second/2))
	done := write(t, b, []app.Op{confirmOp(slot.ID, "early"), confirmOp(slot.ID, "early")}, nil, nil)
	want := got[1].Reservation
	want.Status, want.ExpiresAt = app.Confirmed, time.Time{}
	require.Equal(t, want, done[0].Reservation)
	require.Equal(t, want, done[1].Reservation)
	expired(t, db, slot.ID, 2)
	expired(t, db, other.ID, 0)
	write(t, b, []app.Op{
		confirmOp(slot.ID, "late"), confirmOp(slot.ID, "none"), cancelOp(slot.ID, "late"), reserveOp(slot.ID, "bob"),
		confirmOp(slot.ID, "late"), confirmOp(slot.ID, "kept"),
		confirmOp(other.ID, "late"), reserveOp(other.ID, "late"),
	}, app.ErrHoldExpired, app.ErrReservationNotFound, app.ErrReservationNotFound, nil, app.ErrHoldExpired, nil, app.ErrHoldExpired, nil)
	require.ElementsMatch(t, []string{"early", "kept", "bob"}, users(live(t, db, slot.ID)))

	// One alone, in the way of whom an expired hold stands: another's, its own.
	for _, user := range []string{"bob", "late"} {
		last := newSlot(t, db, 1)
		write(t, b, []app.Op{op(last.ID, "late", time.Second)}, nil)
		expired(t, db, last.ID, 0)
		alone, err := b.Write(t.Context(), []app.Op{op(last.ID, user, time.Hour)}, false)
		ok(t, err)
		ok(t, alone[0].Err)
		require.Equal(t, app.Held, alone[0].Reservation.Status)
		require.Equal(t, time.Hour, alone[0].Reservation.ExpiresAt.Sub(alone[0].Reservation.CreatedAt))
	}
	clean(t, db)
}

// Seen red with: a peek that refuses nothing; allow_past ignored.
func peekRefuses(t *testing.T, db app.Store, b app.Batcher) {
	open, full, started := newSlot(t, db, 2), newSlot(t, db, 1), startedSlot(t, db, 2)
	reserve(t, db, open.ID, "alice")
	reserve(t, db, full.ID, "alice")
	late := reserveOp(started.ID, "alice")
	late.AllowPast = true
	ops := []app.Op{
		reserveOp(full.ID, "bob"), reserveOp(full.ID, "alice"), reserveOp(open.ID, "bob"), reserveOp(open.ID, "alice"),
		reserveOp(started.ID, "alice"), late, reserveOp(999999, "alice"), reserveOp(full.ID, "ALICE"),
	}
	want := []error{app.ErrSlotFull, app.ErrAlreadyReserved, nil, app.ErrAlreadyReserved, app.ErrSlotStarted, nil, app.ErrSlotNotFound, app.ErrSlotFull}
	for range 2 {
		got, err := b.Peek(t.Context(), ops)
		ok(t, err)
		require.Len(t, got, len(want))
		for i := range want {
			require.ErrorIs(t, got[i], want[i], "op %d", i)
		}
	}
	reserved(t, db, open.ID, 1)
}
