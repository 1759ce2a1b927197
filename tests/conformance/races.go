package conformance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

func (s suite) races(t *testing.T) {
	s.desks(t, "ten at once for the last place", func(t *testing.T, db app.Store, d desk) { lastPlaces(t, db, d, size(50), 10, 1) })
	s.desks(t, "two hundred at once for the last place", func(t *testing.T, db app.Store, d desk) { lastPlaces(t, db, d, size(3), 200, 1) })
	s.desks(t, "64 at once for ten places", func(t *testing.T, db app.Store, d desk) { lastPlaces(t, db, d, size(3), 64, 10) })
	s.alone(t, "64 at once for ten places within the bounds that the program has", func(t *testing.T, db app.Store) {
		for range size(3) {
			lastPlaces(t, db, serve(t, db, app.Config{}), 1, 64, 10)
			lastPlaces(t, db, serve(t, db, app.Config{Combine: true}), 1, 64, 10)
		}
	})
	s.desks(t, "one user five times at once", oneUserAtOnce)
	s.desks(t, "cancelled twice at once", cancelledAtOnce)
	s.desks(t, "capacity lowered while others reserve", capacityRace)
	s.desks(t, "a slot deleted while others reserve", deleteRace)
	s.desks(t, "random reserving and cancelling", churn)
	s.alone(t, "one ref created ten times at once", refRace)
	s.alone(t, "one unknown resource named ten times at once", resourceRace)
	s.twoDesks(t, "ten at once for one range", rangeRace)
	s.twoDesks(t, "slots and bookings at once for one range", slotOrBooking)
	s.twoDesks(t, "random ranges of one resource", rangeChurn)
	s.twoDesks(t, "several resources in opposite orders", bookOppositeOrders)
	t.Run("a crowd before one slot leaves room for others", s.crowd)
}

// Cases 1 and 11, the promise itself. Seen red with: read and written in two
// transactions, the CHECK left out; no lock on the slot, the CHECK left out; no
// retries (serializable).
func lastPlaces(t *testing.T, db app.Store, d desk, rounds, n, capacity int) {
	for range rounds {
		slot := newSlot(t, db, capacity)
		errs := atOnce(n, func(i int) error {
			_, err := d.Reserve(t.Context(), app.NewReservation{SlotID: slot.ID, UserID: fmt.Sprint("user ", i)})
			return err
		})
		require.Equal(t, map[error]int{nil: capacity, app.ErrSlotFull: n - capacity}, count(t, errs, app.ErrSlotFull))
		reserved(t, db, slot.ID, capacity)
		for _, r := range live(t, db, slot.ID) {
			var i int
			_, err := fmt.Sscanf(r.UserID, "user %d", &i)
			ok(t, err)
			ok(t, errs[i]) // who has a place was told so
		}
	}
	clean(t, db)
}

// Case 2. Seen red with: read and written in two transactions, the unique index
// left out.
func oneUserAtOnce(t *testing.T, db app.Store, d desk) {
	for round := range size(12) {
		slot := newSlot(t, db, 1+round%5)
		errs := atOnce(5, func(int) error {
			_, err := d.Reserve(t.Context(), app.NewReservation{SlotID: slot.ID, UserID: "alice"})
			return err
		})
		require.Equal(t, map[error]int{nil: 1, app.ErrAlreadyReserved: 4}, count(t, errs, app.ErrAlreadyReserved))
		reserved(t, db, slot.ID, 1)
	}
	clean(t, db)
}

// Case 6. Seen red with: read and written in two transactions.
func cancelledAtOnce(t *testing.T, db app.Store, d desk) {
	for range size(12) {
		slot := newSlot(t, db, 2)
		reserve(t, db, slot.ID, "alice")
		reserve(t, db, slot.ID, "bob")
		errs := atOnce(2, func(int) error { return d.Cancel(t.Context(), slot.ID, "alice") })
		require.Equal(t, map[error]int{nil: 1, app.ErrReservationNotFound: 1}, count(t, errs, app.ErrReservationNotFound))
		reserved(t, db, slot.ID, 1)
	}
	clean(t, db)
}

// Case 7. Seen red with: reservations read and written in two transactions, the
// CHECK left out.
func capacityRace(t *testing.T, db app.Store, d desk) {
	for range size(4) {
		slot := newSlot(t, db, 12)
		errs := atOnce(40, func(i int) error {
			if i%2 == 0 {
				_, err := d.Reserve(t.Context(), app.NewReservation{SlotID: slot.ID, UserID: fmt.Sprint("user ", i)})
				return err
			}
			capacity := 1 + i%12
			seen, err := again(t.Context(), func() (app.Slot, error) { return db.Slot(t.Context(), slot.ID) })
			if err != nil || seen.Available() < 0 {
				return fmt.Errorf("%d of %d reserved (%w)", seen.Reserved, seen.Capacity, err)
			}
			_, err = d.EditSlot(t.Context(), slot.ID, seen.Version, app.SlotEdit{Capacity: &capacity})
			if below, is := asBelow(err); is && below.Reserved > capacity {
				return nil
			}
			return err
		})
		count(t, errs, app.ErrSlotFull, app.ErrVersionMismatch)
		got := getSlot(t, db, slot.ID)
		require.LessOrEqual(t, got.Reserved, got.Capacity)
		require.Len(t, live(t, db, slot.ID), got.Reserved)
	}
	clean(t, db)
}

// Case 8. Seen red with: reservations read and written in two transactions, the
// foreign key left out.
func deleteRace(t *testing.T, db app.Store, d desk) {
	for range size(12) {
		slot := newSlot(t, db, 10)
		deleted := make([]bool, 8)
		errs := atOnce(len(deleted), func(i int) error {
			if i%4 == 0 {
				err := d.DeleteSlot(t.Context(), slot.ID, 0)
				deleted[i] = err == nil
				return err
			}
			_, err := d.Reserve(t.Context(), app.NewReservation{SlotID: slot.ID, UserID: fmt.Sprint("user ", i)})
			return err
		})
		n := count(t, errs, app.ErrSlotNotFound, app.ErrSlotHasReservations)
		if deleted[0] || deleted[4] {
			require.Equal(t, map[error]int{nil: 1, app.ErrSlotNotFound: 7}, n, "one deleted it, and nobody else got anything")
			is(t, app.ErrSlotNotFound, db.Cancel(t.Context(), slot.ID, "user 1"))
			continue
		}
		require.Equal(t, map[error]int{nil: 6, app.ErrSlotHasReservations: 2}, n)
		reserved(t, db, slot.ID, 6)
	}
	clean(t, db)
}

// Seen red with: the ref looked up before the transaction.
func refRace(t *testing.T, db app.Store) {
	for round := range size(10) {
		created, found := make([]bool, 10), make([]int64, 10)
		errs := atOnce(10, func(i int) error {
			return againErr(t.Context(), func() error {
				n := span("room", 10*round, 10*round+10, 1)
				n.Ref = fmt.Sprint("ref ", round)
				slot, made, err := db.CreateSlot(t.Context(), n)
				created[i], found[i] = made, slot.ID
				return err
			})
		})
		count(t, errs)
		makers := 0
		for i := range created {
			if created[i] {
				makers++
			}
			require.Equal(t, found[0], found[i])
		}
		require.Equal(t, 1, makers)
	}
}

// Seen red with: an insert without ON CONFLICT.
func resourceRace(t *testing.T, db app.Store) {
	for round := range size(10) {
		key := fmt.Sprint("room ", round)
		errs := atOnce(10, func(i int) error {
			_, err := bare{db}.CreateSlot(t.Context(), span(key, 10*i, 10*i+10, 1))
			return err
		})
		count(t, errs)
		require.Len(t, list(t, db, app.SlotQuery{Resource: key}), 10)
	}
	rs, err := db.Resources(t.Context(), "", 100)
	ok(t, err)
	require.Len(t, rs, size(10))
}
