package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

// Seen red with: holds not expired before a booking; confirmed, and cancelled,
// after their time; not free to FreeRanges.
func bookingHoldExpires(t *testing.T, db app.Store) {
	kept := bookHold(t, db, "room", "alice", 0, 30, time.Second)
	given := bookHold(t, db, "room", "alice", 30, 60, time.Second)
	slotted := bookHold(t, db, "room", "alice", 60, 90, time.Second)
	confirmed := bookHold(t, db, "room", "alice", 90, 120, time.Second)
	require.Equal(t, app.Held, kept.Status)
	require.Equal(t, time.UTC, kept.ExpiresAt.Location())
	require.InDelta(t, time.Second, kept.ExpiresAt.Sub(kept.CreatedAt), float64(time.Second/2))
	busy(t, db, ask("room", "bob", 0, 30))
	is(t, app.ErrSlotOverlap, createErr(t, db, span("room", 60, 90, 1)))
	for range 2 {
		b, err := db.ConfirmBooking(t.Context(), confirmed.ID)
		ok(t, err)
		want := confirmed
		want.Status, want.ExpiresAt = app.Confirmed, time.Time{}
		require.Equal(t, want, b)
	}
	until(t, "the holds expire", func() bool { return len(bookings(t, db, app.BookingQuery{Resource: "room"})) == 1 })

	require.Equal(t, spans(0, 90), freeRanges(t, db, "room", 0, 120, 1))
	tooLate := func(b app.Booking) {
		t.Helper()
		_, err := db.ConfirmBooking(t.Context(), b.ID)
		is(t, app.ErrHoldExpired, err)
	}
	tooLate(kept)
	is(t, app.ErrBookingNotFound, db.CancelBooking(t.Context(), kept.ID))
	taken := book(t, db, "room", "bob", 30, 60) // nothing has swept
	create(t, db, span("room", 60, 90, 1))
	clean(t, db)
	tooLate(given)
	tooLate(slotted)
	_, err := db.Sweep(t.Context(), 100)
	ok(t, err)
	for _, b := range []app.Booking{kept, given, slotted} {
		tooLate(b)
	}
	got := bookings(t, db, app.BookingQuery{Resource: "room"})
	require.Len(t, got, 2)
	require.Equal(t, taken, got[0])
	require.Equal(t, confirmed.ID, got[1].ID)
	clean(t, db)
}

// Clocks in Berlin go back from 03:00 (+02:00) to 02:00 (+01:00) on that night,
// and forward in spring; instants do neither. Seen red with: the offset
// dropped.
func clockSetBack(t *testing.T, db app.Store) {
	summer, winter := time.FixedZone("CEST", 2*3600), time.FixedZone("CET", 3600)
	resource(t, db, "room", app.KindPlace)
	service := app.NewService(db, app.Config{})
	book := func(from, to time.Time) error {
		_, err := service.Book(t.Context(), app.NewBooking{Resource: "room", UserID: "alice", StartsAt: from, EndsAt: to})
		return err
	}
	two := func(zone *time.Location, minute int) time.Time { return time.Date(2026, 10, 25, 2, minute, 0, 0, zone) }
	ok(t, book(two(summer, 30), two(winter, 0)))  // 00:30 to 01:00 UTC
	ok(t, book(two(winter, 0), two(winter, 30)))  // the same clock time, an hour later
	ok(t, book(two(winter, 30), two(winter, 45))) // 01:30 UTC
	is(t, app.ErrResourceBusy, book(two(summer, 45), two(winter, 15)))
	is(t, app.ErrResourceBusy, book(time.Date(2026, 10, 25, 1, 29, 59, 0, time.UTC), two(winter, 50)))
	from := time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC)
	ranges, err := service.FreeRanges(t.Context(), app.FreeQuery{Resource: "room", From: two(summer, 0), To: two(winter, 59)})
	ok(t, err)
	require.Equal(t, []app.Range{
		{From: from, To: from.Add(30 * time.Minute)},
		{From: from.Add(105 * time.Minute), To: from.Add(119 * time.Minute)},
	}, ranges)

	spring := func(hour int, zone *time.Location) time.Time { return time.Date(2026, 3, 29, hour, 30, 0, 0, zone) }
	ok(t, book(spring(1, winter), spring(3, summer))) // 01:30 to 03:30 on the wall, one hour in truth
	ok(t, book(spring(3, summer), spring(4, summer)))
	got := bookings(t, db, app.BookingQuery{Resource: "room", From: spring(0, time.UTC), To: spring(2, time.UTC)})
	require.Len(t, got, 2)
	require.Equal(t, time.Hour, got[0].EndsAt.Sub(got[0].StartsAt))
	require.Equal(t, spring(0, time.UTC), got[0].StartsAt)
}
