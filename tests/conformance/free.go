package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

func (s suite) free(t *testing.T) {
	s.check(t, "what no slot and no booking takes", freeBetween)
	s.check(t, "exact to the microsecond", freeExact)
	s.check(t, "at once after a cancellation", freeAfterCancel)
	s.check(t, "of an unknown resource there is nothing", freeUnknown)
}

func freeRanges(t *testing.T, db app.Store, key string, from, to, minutes int) []app.Range {
	t.Helper()
	rs, err := db.FreeRanges(t.Context(), app.FreeQuery{
		Resource: key, From: at(from), To: at(to), Minimum: time.Duration(minutes) * time.Minute,
	})
	ok(t, err)
	if len(rs) == 0 {
		return nil
	}
	return rs
}

// spans are the ranges from each first to each second of the minutes.
func spans(minutes ...int) []app.Range {
	var rs []app.Range
	for i := 0; i < len(minutes); i += 2 {
		rs = append(rs, app.Range{From: at(minutes[i]), To: at(minutes[i+1])})
	}
	return rs
}

// Seen red with: slots left out; > for >= at the minimum; the end of the range
// left out; busy ranges across from left out.
func freeBetween(t *testing.T, db app.Store) {
	book(t, db, "room", "a", 20, 30) // adjacent, and not in order
	book(t, db, "room", "a", 10, 20)
	create(t, db, span("room", 40, 50, 3)) // a slot and a booking, adjacent
	book(t, db, "room", "a", 50, 60)
	book(t, db, "room", "a", 70, 80)
	book(t, db, "room", "a", -30, -10)
	create(t, db, span("room", 150, 200, 1))
	book(t, db, "other", "a", 0, 100)
	create(t, db, span("", 0, 100, 1))
	create(t, db, span("nights", 0, 10, 1))

	for _, c := range []struct {
		name              string
		from, to, minutes int
		want              []app.Range
	}{
		{"between", 0, 100, 1, spans(0, 10, 30, 40, 60, 70, 80, 100)},
		{"just as long as asked for", 0, 100, 10, spans(0, 10, 30, 40, 60, 70, 80, 100)},
		{"longer", 0, 100, 11, spans(80, 100)},
		{"longer than any", 0, 100, 21, nil},
		{"from within a busy range", 15, 55, 1, spans(30, 40)},
		{"from and to within", 12, 18, 1, nil},
		{"within two that are adjacent", 15, 25, 1, nil},
		{"within a slot and a booking", 45, 55, 1, nil},
		{"just the busy ones", 10, 30, 1, nil},
		{"cut by from", 5, 20, 1, spans(5, 10)},
		{"cut by to", 25, 35, 1, spans(30, 35)},
		{"cut so that it is too short", 5, 20, 6, nil},
		{"all within a free one", 32, 38, 1, spans(32, 38)},
		{"a free one just", 30, 40, 10, spans(30, 40)},
		{"busy up to from", 80, 90, 1, spans(80, 90)},
		{"nothing busy near", 300, 400, 1, spans(300, 400)},
		{"from one busy to the next", -10, 10, 1, spans(-10, 10)},
		{"busy across from, far and wide", -20, 5, 1, spans(-10, 5)},
		{"a slot across to", 100, 160, 1, spans(100, 150)},
		{"a slot across both", 160, 190, 1, nil},
	} {
		require.Equal(t, c.want, freeRanges(t, db, "room", c.from, c.to, c.minutes), c.name)
	}
	require.Equal(t, spans(10, 20), freeRanges(t, db, "nights", 0, 20, 1), "slots alone")
	resource(t, db, "unused", app.KindThing)
	require.Equal(t, spans(0, 100), freeRanges(t, db, "unused", 0, 100, 100))
	require.Nil(t, freeRanges(t, db, "unused", 0, 100, 101))
}

// Seen red with: milliseconds.
func freeExact(t *testing.T, db app.Store) {
	resource(t, db, "room", app.KindPlace)
	b := ask("room", "alice", 10, 20)
	b.StartsAt, b.EndsAt = at(10).Add(-instant), at(20).Add(instant)
	ok(t, bookErr(t, db, b))
	n := span("room", 30, 31, 1)
	n.EndsAt = at(30).Add(instant)
	create(t, db, n)
	want := []app.Range{{From: at(0), To: at(10).Add(-instant)}, {From: at(20).Add(instant), To: at(30)}, {From: at(30).Add(instant), To: at(40)}}
	require.Equal(t, want, freeRanges(t, db, "room", 0, 40, 1))
	require.Nil(t, freeRanges(t, db, "room", 0, 40, 10), "each lacks a microsecond")
}

// Seen red with: a cancellation that marks the user alone.
func freeAfterCancel(t *testing.T, db app.Store) {
	b := book(t, db, "room", "alice", 10, 20)
	slot := create(t, db, span("room", 30, 40, 1))
	held := ask("room", "alice", 50, 60)
	held.Hold = time.Hour
	err := bookErr(t, db, held)
	if err == nil { // tables without holds have only the other two
		require.Equal(t, spans(40, 50, 60, 100), freeRanges(t, db, "room", 35, 100, 1))
		bs := bookings(t, db, app.BookingQuery{Resource: "room", From: at(50)})
		ok(t, db.CancelBooking(t.Context(), bs[0].ID))
	} else {
		is(t, app.ErrUnsupported, err)
	}
	require.Equal(t, spans(0, 10, 20, 30, 40, 100), freeRanges(t, db, "room", 0, 100, 1))
	ok(t, db.CancelBooking(t.Context(), b.ID))
	require.Equal(t, spans(0, 30, 40, 100), freeRanges(t, db, "room", 0, 100, 1))
	ok(t, db.DeleteSlot(t.Context(), slot.ID, 0))
	require.Equal(t, spans(0, 100), freeRanges(t, db, "room", 0, 100, 1))
	clean(t, db)
}

func freeUnknown(t *testing.T, db app.Store) {
	book(t, db, "room", "alice", 10, 20)
	for _, key := range []string{"rooms", "Room", "roo", "%", ""} {
		_, err := db.FreeRanges(t.Context(), app.FreeQuery{Resource: key, From: at(0), To: at(100), Minimum: time.Minute})
		is(t, app.ErrResourceNotFound, err)
	}
}
