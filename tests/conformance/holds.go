package conformance

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

// A hold here lasts a second, the shortest there is, and the database's clock
// says when it is over.
func (s suite) holds(t *testing.T) {
	s.held(t, "a hold takes its place for a while", holdTakesAPlace)
	s.held(t, "confirmed in time it stays", holdConfirmed)
	s.held(t, "expired it is free for all reads and writes", holdExpires)
	s.held(t, "confirmed too late it is refused", confirmTooLate)
	s.held(t, "swept by two at once, each hold is freed once", sweptOnce)
	s.held(t, "an expired hold blocks no edit and no deletion", expiredBlocksNothing)
	s.held(t, "one that expires in the midst of an edit or a deletion", expiryInTheMidst)
	t.Run("where tables keep none, a hold is refused", func(t *testing.T) {
		if !s.opts.NoHolds {
			t.Skip("these tables keep holds")
		}
		db := s.open(t)
		slot := newSlot(t, db, 1)
		_, err := db.Reserve(t.Context(), app.NewReservation{SlotID: slot.ID, UserID: "alice", Hold: time.Second})
		is(t, app.ErrUnsupported, err)
		reserved(t, db, slot.ID, 0)
	})
}

// Seen red with: holds not counted; expiry counted from created_at; a sweep
// that takes what is live.
func holdTakesAPlace(t *testing.T, db app.Store) {
	slot := newSlot(t, db, 2)
	r := hold(t, db, slot.ID, "alice", time.Hour)
	require.Equal(t, app.Held, r.Status)
	require.Equal(t, time.UTC, r.ExpiresAt.Location())
	require.InDelta(t, time.Hour, r.ExpiresAt.Sub(r.CreatedAt), float64(time.Second), "by the one clock")
	got, err := db.Reservation(t.Context(), slot.ID, "alice")
	ok(t, err)
	require.Equal(t, r, got)
	require.Equal(t, []app.Reservation{r}, live(t, db, slot.ID))
	is(t, app.ErrAlreadyReserved, reserveErr(t, db, slot.ID, "alice"))
	hold(t, db, slot.ID, "bob", app.MaxHold)
	reserved(t, db, slot.ID, 2)
	is(t, app.ErrSlotFull, reserveErr(t, db, slot.ID, "carol"))
	is(t, app.ErrSlotHasReservations, db.DeleteSlot(t.Context(), slot.ID, 0))
	ok(t, db.Cancel(t.Context(), slot.ID, "bob"))
	reserved(t, db, slot.ID, 1)
	_, err = db.Confirm(t.Context(), slot.ID, "bob")
	is(t, app.ErrReservationNotFound, err)
	n, err := db.Sweep(t.Context(), 100)
	ok(t, err)
	require.Zero(t, n)
	reserved(t, db, slot.ID, 1)

	// When another system took it does not shorten it.
	old, err := db.Reserve(t.Context(), app.NewReservation{SlotID: slot.ID, UserID: "dave", Hold: time.Hour, CreatedAt: past()})
	ok(t, err)
	require.Equal(t, past(), old.CreatedAt)
	require.InDelta(t, time.Hour, old.ExpiresAt.Sub(r.CreatedAt), float64(time.Minute))
	reserved(t, db, slot.ID, 2)
	clean(t, db)
}

// Seen red with: the expiry kept; the status kept.
func holdConfirmed(t *testing.T, db app.Store) {
	slot := newSlot(t, db, 2)
	r := hold(t, db, slot.ID, "alice", 2*time.Second)
	hold(t, db, slot.ID, "witness", 2*time.Second) // expires no earlier
	for range 2 {
		got, err := db.Confirm(t.Context(), slot.ID, "alice")
		ok(t, err)
		want := r
		want.Status, want.ExpiresAt = app.Confirmed, time.Time{}
		require.Equal(t, want, got)
		got, err = db.Reservation(t.Context(), slot.ID, "alice")
		ok(t, err)
		require.Equal(t, want, got)
	}
	reserved(t, db, slot.ID, 2)
	expired(t, db, slot.ID, 1)
	_, err := db.Sweep(t.Context(), 100)
	ok(t, err)
	require.Equal(t, []string{"alice"}, users(live(t, db, slot.ID)))
	reserved(t, db, slot.ID, 1)
	clean(t, db)
}

// Case 4: nothing sweeps here. Seen red with: expired holds counted by Slot, by
// Slots, returned by Reservation; not freed by a reserving transaction.
func holdExpires(t *testing.T, db app.Store) {
	slot, other := newSlot(t, db, 1), newSlot(t, db, 1)
	hold(t, db, other.ID, "alice", time.Second)
	hold(t, db, slot.ID, "alice", time.Second)
	require.Empty(t, list(t, db, app.SlotQuery{Available: true}))
	expired(t, db, slot.ID, 0) // the later of the two
	reserved(t, db, slot.ID, 0)
	require.Equal(t, []int64{slot.ID, other.ID}, ids(list(t, db, app.SlotQuery{Available: true})))
	for _, s := range list(t, db, app.SlotQuery{}) {
		require.Equal(t, 1, s.Available())
	}
	_, err := db.Reservation(t.Context(), slot.ID, "alice")
	is(t, app.ErrReservationNotFound, err)
	is(t, app.ErrReservationNotFound, db.Cancel(t.Context(), slot.ID, "alice"))
	reserved(t, db, slot.ID, 0)
	clean(t, db)

	reserve(t, db, slot.ID, "bob")
	is(t, app.ErrSlotFull, reserveErr(t, db, slot.ID, "alice"))
	rs, err := db.ReserveAll(t.Context(), []app.NewReservation{{SlotID: other.ID, UserID: "alice"}}) // again, by the same user
	ok(t, err)
	got, err := db.Confirm(t.Context(), other.ID, "alice")
	ok(t, err)
	require.Equal(t, rs[0], got, "the new one, whatever became of the old")
	reserved(t, db, other.ID, 1)
	clean(t, db)
}

// Case 3. Seen red with: expired holds not looked for; forgotten by the sweep
// at once; confirmed for a minute more.
func confirmTooLate(t *testing.T, db app.Store) {
	given, kept, swept := newSlot(t, db, 1), newSlot(t, db, 1), newSlot(t, db, 1)
	for _, slot := range []app.Slot{given, kept, swept} {
		hold(t, db, slot.ID, "alice", time.Second)
	}
	expired(t, db, swept.ID, 0)
	confirm := func(slot app.Slot) error {
		_, err := db.Confirm(t.Context(), slot.ID, "alice")
		return err
	}
	is(t, app.ErrHoldExpired, confirm(kept))
	is(t, app.ErrHoldExpired, confirm(kept)) // and stays so
	reserve(t, db, given.ID, "bob")
	is(t, app.ErrHoldExpired, confirm(given))
	require.Equal(t, []string{"bob"}, users(live(t, db, given.ID)))
	_, err := db.Sweep(t.Context(), 100)
	ok(t, err)
	for _, slot := range []app.Slot{given, kept, swept} {
		is(t, app.ErrHoldExpired, confirm(slot))
	}
	_, err = db.Confirm(t.Context(), kept.ID, "carol")
	is(t, app.ErrReservationNotFound, err)
	reserved(t, db, kept.ID, 0)
	reserve(t, db, kept.ID, "carol")
	is(t, app.ErrHoldExpired, confirm(kept)) // remembered beside another's place
	clean(t, db)
}

// Each slot's hold is the last that is written there, since every write frees
// what has expired. Seen red with: the limit ignored; live holds swept; expired
// bookings swept again.
func sweptOnce(t *testing.T, db app.Store) {
	const n = 12
	var slots []int64
	for range n {
		slot := newSlot(t, db, 3)
		reserve(t, db, slot.ID, "stays")
		hold(t, db, slot.ID, "held", time.Hour)
		slots = append(slots, slot.ID)
	}
	book(t, db, "room", "stays", 1000, 1010)
	holds, ranges := each("alice", slots...), []app.NewBooking{}
	for i := range holds {
		holds[i].Hold = time.Second
		ranges = append(ranges, ask("room", "alice", 10*i, 10*i+10))
		ranges[i].Hold = time.Second
	}
	_, err := db.ReserveAll(t.Context(), holds)
	ok(t, err)
	_, err = db.Book(t.Context(), ranges)
	ok(t, err)
	until(t, "all is expired", func() bool { return len(bookings(t, db, app.BookingQuery{Resource: "room"})) == 1 })
	expired(t, db, slots[n-1], 2)

	var freed atomic.Int64
	sweep := func(limit int) (int, error) {
		got, err := again(t.Context(), func() (int, error) { return db.Sweep(t.Context(), limit) })
		freed.Add(int64(got))
		return got, err
	}
	got, err := sweep(2)
	ok(t, err)
	require.Equal(t, 2+2, got, "at most so many of each kind")
	errs := atOnce(2, func(int) error {
		for {
			if got, err := sweep(3); got == 0 || err != nil || freed.Load() > n+n {
				return err
			}
		}
	})
	count(t, errs)
	require.EqualValues(t, n+n, freed.Load(), "each once")
	got, err = sweep(100)
	ok(t, err)
	require.Zero(t, got)
	for _, id := range slots {
		require.Equal(t, []string{"stays", "held"}, users(live(t, db, id)))
		reserved(t, db, id, 2)
	}
	require.Len(t, bookings(t, db, app.BookingQuery{Resource: "room"}), 1)
	clean(t, db)
}

// Seen red with: holds not expired before an edit; expired rows left to the
// foreign key; bookings not expired before a slot.
func expiredBlocksNothing(t *testing.T, db app.Store) {
	gone, lowered, moved := newSlot(t, db, 2), newSlot(t, db, 3), create(t, db, span("room", 0, 10, 1))
	hold(t, db, gone.ID, "alice", time.Second)
	reserve(t, db, lowered.ID, "stays")
	bookHold(t, db, "room", "alice", 20, 30, time.Second)
	bookHold(t, db, "room", "alice", 40, 50, time.Second)
	hold(t, db, lowered.ID, "alice", time.Second)
	expired(t, db, lowered.ID, 1)
	expired(t, db, gone.ID, 0)

	ok(t, db.DeleteSlot(t.Context(), gone.ID, gone.Version))
	_, err := db.Slot(t.Context(), gone.ID)
	is(t, app.ErrSlotNotFound, err)
	_, err = db.Confirm(t.Context(), gone.ID, "alice")
	is(t, app.ErrSlotNotFound, err)

	one, zero := 1, at(25)
	slot, err := db.EditSlot(t.Context(), lowered.ID, lowered.Version, app.SlotEdit{Capacity: &one})
	ok(t, err)
	require.Zero(t, slot.Available())
	end := at(35)
	_, err = db.EditSlot(t.Context(), moved.ID, moved.Version, app.SlotEdit{StartsAt: &zero, EndsAt: &end}) // over a booking that expired
	ok(t, err)
	create(t, db, span("room", 45, 55, 1))
	clean(t, db)
}

// An edit and a deletion expire holds, look and write. What expires in between
// counts still, and that is an answer, not a failure. Seen red with: the look
// leaving out what has expired since (Postgres and SQLite; on both the edit met
// the CHECK).
func expiryInTheMidst(t *testing.T, db app.Store) {
	const n = 300
	slot, version := newSlot(t, db, n+1), int64(1)
	reserve(t, db, slot.ID, "stays")
	for i := range n { // they expire as they come, one every few milliseconds
		hold(t, db, slot.ID, fmt.Sprint("user ", i), time.Second)
	}
	for want := n; want > 0; {
		_, err := db.EditSlot(t.Context(), slot.ID, version, app.SlotEdit{Capacity: &want})
		var below *app.CapacityBelowReservedError
		switch {
		case err == nil:
			version, want = version+1, want-1
		case errors.As(err, &below):
			want = max(1, below.Reserved-1) // so that the next one to expire decides
		default:
			is(t, app.ErrTransient, err)
		}
	}
	var leaving []int64
	for range 30 {
		id := newSlot(t, db, 1).ID
		hold(t, db, id, "alice", time.Second)
		leaving = append(leaving, id)
	}
	for len(leaving) > 0 {
		leaving = slices.DeleteFunc(leaving, func(id int64) bool {
			err := db.DeleteSlot(t.Context(), id, 0)
			require.True(t, err == nil || errors.Is(err, app.ErrSlotHasReservations) || errors.Is(err, app.ErrTransient), "%v", err)
			return err == nil
		})
	}
}
