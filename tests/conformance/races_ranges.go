package conformance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

func bookAt(t *testing.T, d desk, b app.NewBooking) (app.Booking, error) {
	bs, err := d.BookAll(t.Context(), []app.NewBooking{b})
	if err != nil {
		return app.Booking{}, err
	}
	return bs[0], nil
}

// Seen red with: neither the adapter nor the trigger looking at other bookings.
func rangeRace(t *testing.T, db app.Store, d desk) {
	resource(t, db, "room", app.KindPlace)
	for round := range size(30) {
		errs := atOnce(10, func(i int) error { // ranges that share one minute, each another
			_, err := bookAt(t, d, ask("room", fmt.Sprint("user ", i), 100*round-i, 100*round+10-i))
			return err
		})
		require.Equal(t, map[error]int{nil: 1, app.ErrResourceBusy: 9}, count(t, errs, app.ErrResourceBusy))
	}
	require.Len(t, bookings(t, db, app.BookingQuery{Resource: "room"}), size(30))
	clean(t, db)
}

// Seen red with: the triggers on bookings left out; the resource not locked
// (Postgres).
func slotOrBooking(t *testing.T, db app.Store, d desk) {
	resource(t, db, "room", app.KindPlace)
	for round := range size(50) {
		from := 100 * round
		errs := atOnce(6, func(i int) error {
			if i%2 == 0 {
				_, err := d.CreateSlot(t.Context(), span("room", from, from+10, 1))
				return err
			}
			_, err := bookAt(t, d, ask("room", fmt.Sprint("user ", i), from+5, from+15))
			return err
		})
		n := count(t, errs, app.ErrResourceBusy, app.ErrSlotOverlap)
		require.Equal(t, 1, n[nil], "one of all: %v", n)
	}
	slots, booked := list(t, db, app.SlotQuery{}), bookings(t, db, app.BookingQuery{Resource: "room"})
	require.Equal(t, size(50), len(slots)+len(booked))
	clean(t, db)
}

// claim is a slot or a booking that was accepted.
type claim struct {
	slotID, bookingID int64
	from, to          time.Time
}

// 64 who book, publish slots, cancel and delete on one resource. Seen red with:
// neither the adapter nor the trigger looking at other bookings.
func rangeChurn(t *testing.T, db app.Store, d desk) {
	resource(t, db, "room", app.KindPlace)
	end := time.Now().Add(period(10 * time.Second))
	var mu sync.Mutex
	var all []claim
	errs := atOnce(64, func(i int) error {
		r := rand.New(rand.NewPCG(2, uint64(i)))
		var mine []claim
		for time.Now().Before(end) {
			got, err := randomClaim(t, d, r, fmt.Sprint("user ", i))
			switch {
			case err == nil:
				mine = append(mine, got)
			case !errors.Is(err, app.ErrResourceBusy) && !errors.Is(err, app.ErrSlotOverlap) || errors.Is(err, app.ErrTransient):
				return err
			}
			if len(mine) > 0 && r.IntN(3) == 0 {
				if err := release(t, d, mine[0]); err != nil {
					return err
				}
				mine = mine[1:]
			}
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, mine...)
		return nil
	})
	count(t, errs)
	requireClaims(t, db, all)
	t.Logf("%d claims stay", len(all))
	clean(t, db)
}

func randomClaim(t *testing.T, d desk, r *rand.Rand, user string) (claim, error) {
	from := r.IntN(2000)
	to := from + 1 + r.IntN(60)
	if r.IntN(4) == 0 {
		s, err := d.CreateSlot(t.Context(), span("room", from, to, 1))
		return claim{slotID: s.ID, from: s.StartsAt, to: s.EndsAt}, err
	}
	b, err := bookAt(t, d, ask("room", user, from, to))
	return claim{bookingID: b.ID, from: b.StartsAt, to: b.EndsAt}, err
}

func release(t *testing.T, d desk, c claim) error {
	if c.slotID != 0 {
		return d.DeleteSlot(t.Context(), c.slotID, 0)
	}
	return d.CancelBooking(t.Context(), c.bookingID)
}

// requireClaims requires that just these claims are there and that no two of
// them share an instant.
func requireClaims(t *testing.T, db app.Store, all []claim) {
	t.Helper()
	var there []claim
	for _, s := range list(t, db, app.SlotQuery{Resource: "room"}) {
		there = append(there, claim{slotID: s.ID, from: s.StartsAt, to: s.EndsAt})
	}
	for _, b := range bookings(t, db, app.BookingQuery{Resource: "room"}) {
		there = append(there, claim{bookingID: b.ID, from: b.StartsAt, to: b.EndsAt})
	}
	require.ElementsMatch(t, all, there)
	for i, a := range there {
		for _, b := range there[:i] {
			require.False(t, a.from.Before(b.to) && b.from.Before(a.to), "%v and %v", a, b)
		}
	}
}

// Seen red with: refused requests answered as if written.
func bookOppositeOrders(t *testing.T, db app.Store, d desk) {
	keys := []string{"a", "b", "c"}
	for _, key := range keys {
		resource(t, db, key, app.KindThing)
	}
	n := size(150)
	errs := atOnce(n, func(i int) error {
		r := rand.New(rand.NewPCG(3, uint64(i)))
		from := 10 * r.IntN(n/3)
		bs := []app.NewBooking{}
		for _, k := range r.Perm(len(keys)) {
			bs = append(bs, ask(keys[k], fmt.Sprint("user ", i), from, from+10))
		}
		_, err := d.BookAll(t.Context(), bs)
		return err
	})
	won := count(t, errs, app.ErrResourceBusy)[nil]
	require.Positive(t, won)
	for _, key := range keys {
		require.Len(t, bookings(t, db, app.BookingQuery{Resource: key}), won, "all of each, or none")
	}
	clean(t, db)
}
