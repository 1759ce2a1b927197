package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

func (s suite) many(t *testing.T) {
	s.check(t, "all are reserved", allReserved)
	s.check(t, "or none, and each failure is named", noneReserved)
	s.held(t, "held together, confirmed one by one", allHeld)
	s.alone(t, "opposite orders do not deadlock", oppositeOrders)
}

// each asks for a place of user in each slot.
func each(user string, slotIDs ...int64) []app.NewReservation {
	rs := make([]app.NewReservation, len(slotIDs))
	for i, id := range slotIDs {
		rs[i] = app.NewReservation{SlotID: id, UserID: user}
	}
	return rs
}

// Seen red with: reservations returned in another order.
func allReserved(t *testing.T, db app.Store) {
	a, b, c := newSlot(t, db, 1), newSlot(t, db, 2), newSlot(t, db, 1)
	rs, err := db.ReserveAll(t.Context(), each("alice", c.ID, a.ID, b.ID))
	ok(t, err)
	require.Len(t, rs, 3)
	for i, slot := range []app.Slot{c, a, b} {
		require.Equal(t, slot.ID, rs[i].SlotID, "in the order of the request")
		got, err := db.Reservation(t.Context(), slot.ID, "alice")
		ok(t, err)
		require.Equal(t, got, rs[i])
		reserved(t, db, slot.ID, 1)
	}
	taken := past()
	one, err := db.ReserveAll(t.Context(), []app.NewReservation{{SlotID: b.ID, UserID: "bob", CreatedAt: taken}})
	ok(t, err)
	require.Equal(t, taken, one[0].CreatedAt)

	var slots []int64
	for range app.MaxTogether {
		slots = append(slots, newSlot(t, db, 1).ID)
	}
	rs, err = db.ReserveAll(t.Context(), each("carol", slots...))
	ok(t, err)
	require.Len(t, rs, app.MaxTogether)
	clean(t, db)
}

// Seen red with: what is possible written and the rest refused; the first
// failure named alone.
func noneReserved(t *testing.T, db app.Store) {
	free, full, mine, last := newSlot(t, db, 5), newSlot(t, db, 1), newSlot(t, db, 5), newSlot(t, db, 1)
	started := startedSlot(t, db, 1)
	reserve(t, db, full.ID, "bob")
	reserve(t, db, mine.ID, "alice")
	untouched := func() {
		t.Helper()
		for _, slot := range []app.Slot{free, last, started} {
			reserved(t, db, slot.ID, 0)
		}
		for _, slot := range []app.Slot{full, mine} {
			reserved(t, db, slot.ID, 1)
		}
	}
	unknown := started.ID + 1000
	_, err := db.ReserveAll(t.Context(), each("alice", last.ID, unknown, free.ID, full.ID, started.ID, mine.ID))
	failures(t, err, map[int]error{
		1: app.ErrSlotNotFound, 3: app.ErrSlotFull, 4: app.ErrSlotStarted, 5: app.ErrAlreadyReserved,
	})
	untouched()
	for _, c := range []struct {
		slot int64
		want error
	}{{full.ID, app.ErrSlotFull}, {unknown, app.ErrSlotNotFound}, {started.ID, app.ErrSlotStarted}, {mine.ID, app.ErrAlreadyReserved}} {
		_, err = db.ReserveAll(t.Context(), each("alice", free.ID, c.slot))
		failures(t, err, map[int]error{1: c.want})
		_, err = db.ReserveAll(t.Context(), each("alice", c.slot))
		failures(t, err, map[int]error{0: c.want})
		untouched()
	}
	late := each("alice", started.ID, free.ID)
	late[0].AllowPast = true
	_, err = db.ReserveAll(t.Context(), late)
	ok(t, err)
	clean(t, db)
}

// Seen red with: the hold lost.
func allHeld(t *testing.T, db app.Store) {
	a, b := newSlot(t, db, 1), newSlot(t, db, 1)
	rs := each("alice", b.ID, a.ID)
	rs[0].Hold, rs[1].Hold = time.Second, time.Second
	held, err := db.ReserveAll(t.Context(), rs)
	ok(t, err)
	for _, r := range held {
		require.Equal(t, app.Held, r.Status)
		require.False(t, r.ExpiresAt.IsZero())
	}
	_, err = db.ReserveAll(t.Context(), each("bob", a.ID, b.ID))
	failures(t, err, map[int]error{0: app.ErrSlotFull, 1: app.ErrSlotFull})
	_, err = db.Confirm(t.Context(), a.ID, "alice")
	ok(t, err)
	expired(t, db, b.ID, 0)
	_, err = db.ReserveAll(t.Context(), each("bob", a.ID, b.ID))
	failures(t, err, map[int]error{0: app.ErrSlotFull})
	_, err = db.ReserveAll(t.Context(), each("alice", b.ID))
	ok(t, err)
	reserved(t, db, a.ID, 1)
	reserved(t, db, b.ID, 1)
	clean(t, db)
}

// A thousand requests for the same two slots, every second one the other way
// round, and lone ones between them. Seen red with: what is possible written
// and the rest refused.
func oppositeOrders(t *testing.T, db app.Store) {
	n := size(1000)
	a, b := newSlot(t, db, n/2), newSlot(t, db, n*2/3) // so that one has room when the other is full
	service := patient(t, db, app.Config{Combine: true})
	errs := atOnce(n, func(i int) error {
		user := fmt.Sprint("user ", i)
		switch {
		case i%10 == 9: // one place, at one end
			_, err := service.Reserve(t.Context(), app.NewReservation{SlotID: []int64{a.ID, b.ID}[i/10%2], UserID: user})
			return err
		case i%2 == 0:
			_, err := service.ReserveAll(t.Context(), each(user, a.ID, b.ID))
			return err
		default:
			_, err := service.ReserveAll(t.Context(), each(user, b.ID, a.ID))
			return err
		}
	})
	count(t, errs, app.ErrSlotFull)
	want := map[int64]map[string]bool{a.ID: {}, b.ID: {}}
	for i, err := range errs {
		if user := fmt.Sprint("user ", i); err == nil && i%10 == 9 {
			want[[]int64{a.ID, b.ID}[i/10%2]][user] = true
		} else if err == nil {
			want[a.ID][user], want[b.ID][user] = true, true
		}
	}
	for id, names := range want {
		got := map[string]bool{}
		for _, r := range everyone(t, db, id) {
			got[r.UserID] = true
		}
		require.Equal(t, names, got, "what was answered, no more and no less")
		require.Equal(t, len(names), getSlot(t, db, id).Reserved)
	}
	require.Zero(t, getSlot(t, db, a.ID).Available(), "none was refused without cause")
	clean(t, db)
}

// everyone is live without the bound of a page.
func everyone(t *testing.T, db app.Store, slotID int64) (all []app.Reservation) {
	t.Helper()
	for after := int64(0); ; after = all[len(all)-1].ID {
		rs, err := db.Reservations(t.Context(), slotID, after, app.MaxPage)
		ok(t, err)
		if all = append(all, rs...); len(rs) < app.MaxPage {
			return all
		}
	}
}
