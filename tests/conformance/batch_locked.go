package conformance

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

// Seen red with: SKIP LOCKED left out, of lock_slots_free and of reserve_lone.
func lockedSlot(t *testing.T, db app.Store, b app.Batcher, other SlotLocker) {
	first, locked, last := newSlot(t, db, 2), newSlot(t, db, 2), newSlot(t, db, 2)
	reserve(t, db, locked.ID, "carol")
	release := holdLock(t, other, locked.ID)
	ops := []app.Op{
		reserveOp(last.ID, "alice"), reserveOp(locked.ID, "alice"), reserveOp(first.ID, "alice"),
		cancelOp(locked.ID, "carol"), reserveOp(999999, "alice"), reserveOp(last.ID, "alice"),
	}
	began := time.Now()
	outcomes, err := b.Write(t.Context(), ops, false)
	ok(t, err)
	alone, err := b.Write(t.Context(), []app.Op{reserveOp(locked.ID, "alice")}, false)
	ok(t, err)
	require.Less(t, time.Since(began), time.Second, "it waits for none")
	require.ErrorIs(t, alone[0].Err, app.ErrTransient)
	for i, want := range []error{nil, app.ErrTransient, nil, app.ErrTransient, app.ErrSlotNotFound, app.ErrAlreadyReserved} {
		require.ErrorIs(t, outcomes[i].Err, want, "op %d", i)
	}
	require.Equal(t, []string{"alice"}, users(live(t, db, first.ID)))
	refusals, err := b.Peek(t.Context(), []app.Op{reserveOp(locked.ID, "carol"), reserveOp(locked.ID, "bob")})
	ok(t, err)
	require.ErrorIs(t, refusals[0], app.ErrAlreadyReserved, "a peek takes no lock")
	require.NoError(t, refusals[1])

	ok(t, release())
	require.Equal(t, []string{"carol"}, users(live(t, db, locked.ID)))
	write(t, b, []app.Op{reserveOp(locked.ID, "alice"), cancelOp(locked.ID, "carol"), reserveOp(first.ID, "alice")},
		nil, nil, app.ErrAlreadyReserved)
	require.Equal(t, []string{"alice"}, users(live(t, db, locked.ID)))
	clean(t, db)
}

// More slots are locked than batches are written at once. Seen red with: SKIP
// LOCKED left out.
func lockedSlotAtService(t *testing.T, db app.Store, other SlotLocker) {
	const slots, each = 3, 5
	free := newSlot(t, db, 30)
	service := patient(t, db, app.Config{Combine: true})
	var locked []int64
	var releases []func() error
	for range slots {
		locked = append(locked, newSlot(t, db, each).ID)
		releases = append(releases, holdLock(t, other, locked[len(locked)-1]))
	}
	answers := make(chan []error, 1)
	go func() {
		answers <- atOnce(slots*each, func(i int) error {
			_, err := service.Reserve(t.Context(), app.NewReservation{SlotID: locked[i%slots], UserID: fmt.Sprint("user ", i)})
			return err
		})
	}()
	for i := range 20 { // some share a batch with the locked ones
		began := time.Now()
		_, err := service.Reserve(t.Context(), app.NewReservation{SlotID: free.ID, UserID: fmt.Sprint("user ", i)})
		ok(t, err)
		require.Less(t, time.Since(began), time.Second)
		time.Sleep(10 * time.Millisecond)
	}
	select {
	case errs := <-answers:
		require.FailNow(t, "answered although the slots are locked", "%v", errs)
	default:
	}
	for _, release := range releases {
		ok(t, release())
	}
	count(t, <-answers)
	for _, id := range locked {
		reserved(t, db, id, each)
	}
	reserved(t, db, free.ID, 20)
	clean(t, db)
}

// holdLock locks the slot until release, or until the test ends: a pool that is
// closed waits for its transactions.
func holdLock(t *testing.T, other SlotLocker, slotID int64) (release func() error) {
	t.Helper()
	unlock, err := other.HoldSlotLock(slotID)
	ok(t, err)
	once := sync.OnceValue(unlock)
	t.Cleanup(func() { _ = once() })
	return once
}

// A client that was told of a cancellation finds the place free, whichever
// replica it asks. Seen red with: an earlier answer given again.
func peekAfterCancel(t *testing.T, db app.Store, b app.Batcher, replica app.Store) {
	slot := newSlot(t, db, 1)
	for i := range size(40) {
		user := fmt.Sprint("user ", i)
		reserve(t, db, slot.ID, user)
		for _, want := range [][]error{{app.ErrSlotFull, app.ErrAlreadyReserved}, {nil, nil}} {
			refusals, err := b.Peek(t.Context(), []app.Op{reserveOp(slot.ID, "next"), reserveOp(slot.ID, user)})
			ok(t, err)
			require.ErrorIs(t, refusals[0], want[0])
			require.ErrorIs(t, refusals[1], want[1])
			if want[0] != nil {
				ok(t, replica.Cancel(t.Context(), slot.ID, user))
			}
		}
	}
}
