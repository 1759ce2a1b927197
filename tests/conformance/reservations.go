package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

func (s suite) reservations(t *testing.T) {
	s.check(t, "reserved is what is stored", reservationStored)
	s.check(t, "refused in a fixed order", refusedInOrder)
	s.check(t, "after the start only where that is allowed", allowPast)
	s.check(t, "cancelling frees the place at once", cancelFrees)
	s.check(t, "confirming what is confirmed changes nothing", confirmConfirmed)
	s.check(t, "listed oldest first, page by page", reservationsPaged)
	s.check(t, "users are compared byte by byte", usersByBytes)
	s.check(t, "unusual text comes back as it went in", unusualText)
}

// Seen red with: created_at ignored; times in the local zone.
func reservationStored(t *testing.T, db app.Store) {
	slot := newSlot(t, db, 3)
	r := reserve(t, db, slot.ID, "alice")
	require.Positive(t, r.ID)
	require.False(t, r.CreatedAt.IsZero())
	require.Equal(t, r.CreatedAt.UTC().Truncate(instant), r.CreatedAt)
	require.Equal(t, app.Reservation{ID: r.ID, SlotID: slot.ID, UserID: "alice", Status: app.Confirmed, CreatedAt: r.CreatedAt}, r)

	taken := time.Date(2021, 3, 1, 10, 11, 12, 345678000, time.UTC) // by another system
	old, err := db.Reserve(t.Context(), app.NewReservation{SlotID: slot.ID, UserID: "bob", CreatedAt: taken})
	ok(t, err)
	require.Equal(t, taken, old.CreatedAt)
	require.NotEqual(t, r.ID, old.ID)

	for _, want := range []app.Reservation{r, old} {
		got, err := db.Reservation(t.Context(), slot.ID, want.UserID)
		ok(t, err)
		require.Equal(t, want, got)
	}
	require.Equal(t, []app.Reservation{r, old}, live(t, db, slot.ID))
	reserved(t, db, slot.ID, 2)
	clean(t, db)
}

// Slot unknown, already reserved, started, full. Seen red with: full, and
// started, looked at before the duplicate.
func refusedInOrder(t *testing.T, db app.Store) {
	full := newSlot(t, db, 2)
	reserve(t, db, full.ID, "alice")
	is(t, app.ErrAlreadyReserved, reserveErr(t, db, full.ID, "alice")) // case 2
	reserve(t, db, full.ID, "bob")
	is(t, app.ErrAlreadyReserved, reserveErr(t, db, full.ID, "alice")) // before full
	is(t, app.ErrSlotFull, reserveErr(t, db, full.ID, "carol"))
	reserved(t, db, full.ID, 2)

	started := startedSlot(t, db, 1)
	staff := app.NewReservation{SlotID: started.ID, UserID: "alice", AllowPast: true}
	_, err := db.Reserve(t.Context(), staff)
	ok(t, err)
	is(t, app.ErrAlreadyReserved, reserveErr(t, db, started.ID, "alice")) // before started
	is(t, app.ErrSlotStarted, reserveErr(t, db, started.ID, "bob"))       // before full
	_, err = db.Reserve(t.Context(), staff)
	is(t, app.ErrAlreadyReserved, err)
	staff.UserID = "bob"
	_, err = db.Reserve(t.Context(), staff)
	is(t, app.ErrSlotFull, err) // staff may be late, not overbook
	reserved(t, db, started.ID, 1)

	is(t, app.ErrSlotNotFound, reserveErr(t, db, started.ID+1, "alice"))
	clean(t, db)
}

// Seen red with: allow_past ignored; the start not looked at.
func allowPast(t *testing.T, db app.Store) {
	slot := startedSlot(t, db, 2)
	is(t, app.ErrSlotStarted, reserveErr(t, db, slot.ID, "alice"))
	reserved(t, db, slot.ID, 0)
	r, err := db.Reserve(t.Context(), app.NewReservation{SlotID: slot.ID, UserID: "alice", AllowPast: true})
	ok(t, err)
	require.Equal(t, app.Confirmed, r.Status)
	ok(t, db.Cancel(t.Context(), slot.ID, "alice"))
	reserved(t, db, slot.ID, 0)
}

// Cases 5 and 6. Seen red with: the counter not counted down; a second
// cancellation that succeeds.
func cancelFrees(t *testing.T, db app.Store) {
	slot := newSlot(t, db, 1)
	first := reserve(t, db, slot.ID, "alice")
	is(t, app.ErrReservationNotFound, db.Cancel(t.Context(), slot.ID, "bob"))
	ok(t, db.Cancel(t.Context(), slot.ID, "alice"))
	reserved(t, db, slot.ID, 0)
	_, err := db.Reservation(t.Context(), slot.ID, "alice")
	is(t, app.ErrReservationNotFound, err)
	is(t, app.ErrReservationNotFound, db.Cancel(t.Context(), slot.ID, "alice"))
	reserved(t, db, slot.ID, 0) // credited once

	reserve(t, db, slot.ID, "bob")
	is(t, app.ErrReservationNotFound, db.Cancel(t.Context(), slot.ID, "alice"))
	reserved(t, db, slot.ID, 1)
	ok(t, db.Cancel(t.Context(), slot.ID, "bob"))
	again := reserve(t, db, slot.ID, "alice")
	require.Greater(t, again.ID, first.ID, "a new reservation, not the old one back")
	clean(t, db)
}

// Seen red with: only holds can be confirmed.
func confirmConfirmed(t *testing.T, db app.Store) {
	slot := newSlot(t, db, 1)
	r := reserve(t, db, slot.ID, "alice")
	for range 2 {
		got, err := db.Confirm(t.Context(), slot.ID, "alice")
		ok(t, err)
		require.Equal(t, r, got)
	}
	_, err := db.Confirm(t.Context(), slot.ID, "bob")
	is(t, app.ErrReservationNotFound, err)
	ok(t, db.Cancel(t.Context(), slot.ID, "alice"))
	_, err = db.Confirm(t.Context(), slot.ID, "alice")
	is(t, app.ErrReservationNotFound, err)
	reserved(t, db, slot.ID, 0)
}

// Seen red with: order by user; >= for > at the cursor.
func reservationsPaged(t *testing.T, db app.Store) {
	slot, other := newSlot(t, db, 10), newSlot(t, db, 10)
	require.Empty(t, live(t, db, slot.ID))
	var all []app.Reservation
	for i := range 8 { // names and times descend, ids ascend
		r, err := db.Reserve(t.Context(), app.NewReservation{
			SlotID: slot.ID, UserID: fmt.Sprint("user ", 9-i), CreatedAt: past().Add(-time.Duration(i) * time.Hour),
		})
		ok(t, err)
		all = append(all, r)
		reserve(t, db, other.ID, r.UserID)
	}
	ok(t, db.Cancel(t.Context(), slot.ID, all[3].UserID))
	gone := all[3].ID
	all = append(all[:3:3], all[4:]...)
	page := func(after int64, limit int) []app.Reservation {
		rs, err := db.Reservations(t.Context(), slot.ID, after, limit)
		ok(t, err)
		return rs
	}
	require.Equal(t, all, live(t, db, slot.ID))
	require.Equal(t, all[:3], page(0, 3))
	require.Equal(t, all[3:6], page(all[2].ID, 3))
	require.Equal(t, all[6:], page(all[5].ID, 3))
	require.Equal(t, all[3:], page(gone, 10), "behind one that is gone")
	require.Empty(t, page(all[6].ID, 3))
}

// Cases 20 and 21, and kin. Seen red with: a collation without case; NFC left
// out of the Service.
func usersByBytes(t *testing.T, db app.Store) {
	slot := newSlot(t, db, 100)
	names := []string{
		"alice", "ALICE", "Alice", "alic\u00e9", "alice\u200b", "alice\u00ad", "\ufeffalice", // seen, and what most collations ignore
		"stra\u00dfe", "strasse", "\u0131", "i", "I", "\u0130", "\ufb01", "fi", "\uff11", "1", "\u00b9",
		"j\u00fcrgen", "ju\u0308rgen", // the store compares bytes; the Service makes these one person
		"\u3042", "\u30a2", "\uff71", "\u0627", "\u0623", "\U0001f600", "\U0001f601",
	}
	for _, name := range names {
		reserve(t, db, slot.ID, name)
		is(t, app.ErrAlreadyReserved, reserveErr(t, db, slot.ID, name))
	}
	require.Equal(t, names, users(live(t, db, slot.ID)))
	for _, name := range names {
		r, err := db.Reservation(t.Context(), slot.ID, name)
		ok(t, err)
		require.Equal(t, name, r.UserID)
	}
	ok(t, db.Cancel(t.Context(), slot.ID, "ALICE"))
	require.Equal(t, append([]string{"alice"}, names[2:]...), users(live(t, db, slot.ID)))

	other := newSlot(t, db, 5)
	service := app.NewService(db, app.Config{})
	_, err := service.Reserve(t.Context(), app.NewReservation{SlotID: other.ID, UserID: "ju\u0308rgen"})
	ok(t, err)
	_, err = service.Reserve(t.Context(), app.NewReservation{SlotID: other.ID, UserID: "j\u00fcrgen"})
	is(t, app.ErrAlreadyReserved, err)
	require.Equal(t, []string{"j\u00fcrgen"}, users(live(t, db, other.ID)))
}
