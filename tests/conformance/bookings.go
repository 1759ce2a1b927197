package conformance

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

func (s suite) bookings(t *testing.T) {
	s.check(t, "booked is what is stored", bookingStored)
	s.check(t, "a range is taken once", rangeTakenOnce)
	s.check(t, "several are booked, or none", severalBooked)
	s.check(t, "a place is not booked as a thing", placeOrThing)
	s.check(t, "one resource twice in a request", oneResourceTwice)
	s.check(t, "slots and bookings exclude one another", slotsExcludeBookings)
	s.check(t, "listed by start where they overlap a range", bookingsListed)
	s.check(t, "confirmed and cancelled", bookingCancelled)
	s.held(t, "an expired hold frees its range", bookingHoldExpires)
	s.check(t, "an hour that a clock shows twice is two hours", clockSetBack)
}

func ask(key, user string, from, to int) app.NewBooking {
	return app.NewBooking{Resource: key, UserID: user, StartsAt: at(from), EndsAt: at(to)}
}

// book books, and makes the resource first where there is none.
func book(t *testing.T, db app.Store, key, user string, from, to int) app.Booking {
	t.Helper()
	return bookHold(t, db, key, user, from, to, 0)
}

func bookHold(t *testing.T, db app.Store, key, user string, from, to int, d time.Duration) app.Booking {
	t.Helper()
	_, err := db.CreateResource(t.Context(), app.Resource{Key: key, Name: key, Kind: app.KindPlace})
	if err != nil {
		is(t, app.ErrResourceExists, err)
	}
	b := ask(key, user, from, to)
	b.Hold = d
	bs, err := db.Book(t.Context(), []app.NewBooking{b})
	ok(t, err)
	require.Len(t, bs, 1)
	return bs[0]
}

func bookErr(t *testing.T, db app.Store, bs ...app.NewBooking) error {
	t.Helper()
	_, err := db.Book(t.Context(), bs)
	return err
}

// busy requires that the one booking is refused since its range is taken.
func busy(t *testing.T, db app.Store, b app.NewBooking) {
	t.Helper()
	failures(t, bookErr(t, db, b), map[int]error{0: app.ErrResourceBusy})
}

func bookings(t *testing.T, db app.Store, q app.BookingQuery) []app.Booking {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = app.MaxPage + 1
	}
	bs, err := db.Bookings(t.Context(), q)
	ok(t, err)
	return bs
}

// Seen red with: the kind left out; an unknown resource not named.
func bookingStored(t *testing.T, db app.Store) {
	for key, kind := range map[string]app.Kind{"mri-1": app.KindThing, "room": app.KindPlace} {
		resource(t, db, key, kind)
		n := ask(key, "alice", 0, 30)
		n.StartsAt, n.EndsAt = n.StartsAt.Add(123456*instant), n.EndsAt.Add(654321*instant)
		bs, err := db.Book(t.Context(), []app.NewBooking{n})
		ok(t, err)
		require.Len(t, bs, 1)
		b := bs[0]
		require.Positive(t, b.ID)
		require.False(t, b.CreatedAt.IsZero())
		require.Equal(t, b.CreatedAt.UTC().Truncate(instant), b.CreatedAt)
		require.Equal(t, app.Booking{
			ID: b.ID, Resource: key, Kind: kind, UserID: "alice", StartsAt: n.StartsAt, EndsAt: n.EndsAt,
			Status: app.Confirmed, CreatedAt: b.CreatedAt,
		}, b)
		require.Equal(t, bs, bookings(t, db, app.BookingQuery{Resource: key}))
	}
	resource(t, db, "late", app.KindThing)
	failures(t, bookErr(t, db, ask("unknown", "alice", 0, 10)), map[int]error{0: app.ErrResourceNotFound})
	failures(t, bookErr(t, db, ask("MRI-1", "alice", 100, 110)), map[int]error{0: app.ErrResourceNotFound})
	_, err := db.Bookings(t.Context(), app.BookingQuery{Resource: "unknown", Limit: 10})
	is(t, app.ErrResourceNotFound, err)
	require.Empty(t, bookings(t, db, app.BookingQuery{Resource: "late"}))
}

// Case 9. Seen red with: ranges closed at the start; the refusal left to the
// trigger, which names no item.
func rangeTakenOnce(t *testing.T, db app.Store) {
	book(t, db, "room", "alice", 0, 30)
	book(t, db, "room", "alice", 30, 60)
	book(t, db, "room", "bob", -30, 0)
	book(t, db, "other", "bob", 0, 30)
	early, late := ask("room", "carol", 59, 90), ask("room", "carol", -90, -30)
	early.StartsAt = at(60).Add(-instant)
	late.EndsAt = at(-30).Add(instant)
	for _, b := range []app.NewBooking{
		ask("room", "carol", 0, 30), ask("room", "alice", 0, 30), // equal, whoever asks
		ask("room", "carol", 10, 20), ask("room", "carol", -5, 35), // contained, containing
		ask("room", "carol", 0, 5), ask("room", "carol", 25, 30), // one end shared
		ask("room", "carol", 20, 40), ask("room", "carol", -100, 100), // over several
		early, late,
	} {
		busy(t, db, b)
	}
	require.Len(t, bookings(t, db, app.BookingQuery{Resource: "room"}), 3)
	clean(t, db)
}

// Seen red with: the first failure named alone; the first item written all the
// same.
func severalBooked(t *testing.T, db app.Store) {
	resource(t, db, "room", app.KindPlace)
	resource(t, db, "drill", app.KindThing)
	resource(t, db, "chair", app.KindThing)
	taken := book(t, db, "chair", "bob", 0, 30)

	err := bookErr(t, db, ask("room", "alice", 0, 30), ask("none", "alice", 0, 30), ask("chair", "alice", 10, 20), ask("drill", "alice", 0, 30))
	failures(t, err, map[int]error{1: app.ErrResourceNotFound, 2: app.ErrResourceBusy})
	failures(t, bookErr(t, db, ask("chair", "alice", 10, 20), ask("room", "alice", 0, 30)), map[int]error{0: app.ErrResourceBusy})
	for _, key := range []string{"room", "drill"} {
		require.Empty(t, bookings(t, db, app.BookingQuery{Resource: key}))
	}
	ok(t, db.CancelBooking(t.Context(), taken.ID))

	bs, err := db.Book(t.Context(), []app.NewBooking{ask("room", "alice", 0, 30), ask("chair", "alice", 10, 20), ask("drill", "alice", 5, 30)})
	ok(t, err)
	require.Len(t, bs, 3)
	for i, key := range []string{"room", "chair", "drill"} {
		require.Equal(t, key, bs[i].Resource, "in the order of the request")
		require.Equal(t, bs[i:i+1], bookings(t, db, app.BookingQuery{Resource: key}))
	}
	clean(t, db)
}

// Seen red with: the kind not looked at.
func placeOrThing(t *testing.T, db app.Store) {
	resource(t, db, "room", app.KindPlace)
	resource(t, db, "drill", app.KindThing)
	as := func(kind app.Kind, b app.NewBooking) app.NewBooking {
		b.Kind = kind
		return b
	}
	err := bookErr(t, db, as(app.KindPlace, ask("room", "alice", 0, 10)), as(app.KindPlace, ask("drill", "alice", 0, 10)))
	var many *app.ManyError
	require.ErrorAs(t, err, &many)
	require.Len(t, many.Failures, 1)
	require.Equal(t, 1, many.Failures[0].Index)
	var invalid *app.ValidationError
	require.ErrorAs(t, many.Failures[0].Err, &invalid)
	require.ErrorAs(t, bookErr(t, db, as(app.KindThing, ask("room", "alice", 0, 10))), &invalid)
	require.Empty(t, bookings(t, db, app.BookingQuery{Resource: "room"}))

	bs, err := db.Book(t.Context(), []app.NewBooking{
		as(app.KindPlace, ask("room", "alice", 0, 10)), as(app.KindThing, ask("drill", "alice", 0, 10)), ask("drill", "alice", 10, 20),
	})
	ok(t, err)
	require.Equal(t, []app.Kind{app.KindPlace, app.KindThing, app.KindThing}, []app.Kind{bs[0].Kind, bs[1].Kind, bs[2].Kind})
}

// Seen red with: a resource twice refused in any case; items not held against
// each other.
func oneResourceTwice(t *testing.T, db app.Store) {
	resource(t, db, "room", app.KindPlace)
	bs, err := db.Book(t.Context(), []app.NewBooking{ask("room", "alice", 30, 60), ask("room", "alice", 0, 30), ask("room", "bob", 90, 99)})
	ok(t, err)
	require.Equal(t, []app.Booking{bs[1], bs[0], bs[2]}, bookings(t, db, app.BookingQuery{Resource: "room"}))

	err = bookErr(t, db, ask("room", "alice", 100, 120), ask("room", "alice", 119, 140))
	failures(t, err, map[int]error{1: app.ErrResourceBusy})
	err = bookErr(t, db, ask("room", "alice", 200, 210), ask("room", "alice", 210, 220), ask("room", "alice", 55, 65))
	failures(t, err, map[int]error{2: app.ErrResourceBusy})
	require.Len(t, bookings(t, db, app.BookingQuery{Resource: "room"}), 3)
	clean(t, db)
}

// Seen red with: slots not looked at by bookings; bookings not looked at by
// slots.
func slotsExcludeBookings(t *testing.T, db app.Store) {
	slot := create(t, db, span("room", 0, 30, 5))
	b := book(t, db, "room", "alice", 30, 60)
	for _, r := range [][2]int{{0, 30}, {10, 20}, {-5, 5}, {25, 30}, {-50, 100}} {
		busy(t, db, ask("room", "bob", r[0], r[1]))
	}
	for _, r := range [][2]int{{30, 60}, {40, 50}, {55, 65}, {29, 31}} {
		is(t, app.ErrSlotOverlap, createErr(t, db, span("room", r[0], r[1], 1)))
	}
	end := at(31)
	_, err := db.EditSlot(t.Context(), slot.ID, slot.Version, app.SlotEdit{EndsAt: &end})
	is(t, app.ErrSlotOverlap, err)
	require.Equal(t, slot, getSlot(t, db, slot.ID))

	ok(t, db.CancelBooking(t.Context(), b.ID))
	slot, err = db.EditSlot(t.Context(), slot.ID, slot.Version, app.SlotEdit{EndsAt: &end})
	ok(t, err)
	busy(t, db, ask("room", "bob", 30, 60))
	ok(t, db.DeleteSlot(t.Context(), slot.ID, 0))
	book(t, db, "room", "bob", 0, 60)
	is(t, app.ErrSlotOverlap, createErr(t, db, span("room", 0, 30, 1)))
	clean(t, db)
}

// Seen red with: ranges closed at from, at to; order by id.
func bookingsListed(t *testing.T, db app.Store) {
	d := book(t, db, "room", "d", 60, 70)
	a := book(t, db, "room", "a", 0, 10)
	c := book(t, db, "room", "c", 20, 60)
	b := book(t, db, "room", "b", 10, 20)
	book(t, db, "other", "a", 0, 70)
	gone := book(t, db, "room", "x", 80, 90)
	ok(t, db.CancelBooking(t.Context(), gone.ID))
	all := []app.Booking{a, b, c, d}
	for _, x := range []struct {
		name string
		q    app.BookingQuery
		want []app.Booking
	}{
		{"all", app.BookingQuery{}, all},
		{"one that ends at from is out", app.BookingQuery{From: at(10)}, all[1:]},
		{"an instant earlier it is in", app.BookingQuery{From: at(10).Add(-instant)}, all},
		{"one that starts at to is out", app.BookingQuery{To: at(20)}, all[:2]},
		{"an instant later it is in", app.BookingQuery{To: at(20).Add(instant)}, all[:3]},
		{"one around the range is in", app.BookingQuery{From: at(30), To: at(31)}, all[2:3]},
		{"none", app.BookingQuery{From: at(70), To: at(100)}, nil},
		{"at most", app.BookingQuery{Limit: 3}, all[:3]},
		{"behind", app.BookingQuery{After: app.SlotCursor{StartsAt: a.StartsAt, ID: a.ID}, Limit: 2}, all[1:3]},
		{"behind the last", app.BookingQuery{After: app.SlotCursor{StartsAt: d.StartsAt, ID: d.ID}}, nil},
	} {
		x.q.Resource = "room"
		got := bookings(t, db, x.q)
		require.Len(t, got, len(x.want), x.name)
		for i, b := range got {
			require.Equal(t, x.want[i], b, x.name)
		}
	}
}

// Seen red with: a second cancellation that succeeds.
func bookingCancelled(t *testing.T, db app.Store) {
	b := book(t, db, "room", "alice", 0, 30)
	got, err := db.ConfirmBooking(t.Context(), b.ID)
	ok(t, err)
	require.Equal(t, b, got, "what is confirmed stays so")
	ok(t, db.CancelBooking(t.Context(), b.ID))
	for _, id := range []int64{b.ID, b.ID + 1000, 0, -1, math.MaxInt64} {
		is(t, app.ErrBookingNotFound, db.CancelBooking(t.Context(), id))
		_, err := db.ConfirmBooking(t.Context(), id)
		is(t, app.ErrBookingNotFound, err)
	}
	require.Empty(t, bookings(t, db, app.BookingQuery{Resource: "room"}))
	require.Greater(t, book(t, db, "room", "bob", 10, 20).ID, b.ID)
	clean(t, db)
}
