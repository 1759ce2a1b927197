package conformance

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

// at is a time so many minutes after nine on a day far ahead. The suite reads
// no clock: what has started and what has expired is for the database to say.
func at(minutes int) time.Time {
	return time.Date(2090, 3, 1, 9, minutes, 0, 0, time.UTC)
}

// past is the start of slots that have started.
func past() time.Time { return time.Date(2001, 3, 1, 9, 0, 0, 0, time.UTC) }

const instant = time.Microsecond // the finest that every engine keeps

func ok(t *testing.T, err error) {
	t.Helper()
	require.NoError(t, err)
}

// is requires err to be the refusal want and no failure besides.
func is(t *testing.T, want, err error) {
	t.Helper()
	require.ErrorIs(t, err, want)
	for _, failure := range []error{app.ErrTransient, app.ErrBusy, app.ErrUnavailable, app.ErrOutcomeUnknown} {
		require.False(t, !errors.Is(want, failure) && errors.Is(err, failure), "a refusal is no failure: %v", err)
	}
}

func span(resource string, from, to, capacity int) app.NewSlot {
	return app.NewSlot{Resource: resource, StartsAt: at(from), EndsAt: at(to), Capacity: capacity}
}

func create(t *testing.T, db app.Store, n app.NewSlot) app.Slot {
	t.Helper()
	slot, created, err := db.CreateSlot(t.Context(), n)
	ok(t, err)
	require.True(t, created)
	return slot
}

func createErr(t *testing.T, db app.Store, n app.NewSlot) error {
	t.Helper()
	_, created, err := db.CreateSlot(t.Context(), n)
	require.False(t, err != nil && created, "what failed was not created")
	return err
}

// newSlot is a slot of no resource.
func newSlot(t *testing.T, db app.Store, capacity int) app.Slot {
	t.Helper()
	return create(t, db, span("", 0, 20, capacity))
}

func startedSlot(t *testing.T, db app.Store, capacity int) app.Slot {
	t.Helper()
	return create(t, db, app.NewSlot{StartsAt: past(), EndsAt: at(0), Capacity: capacity})
}

func getSlot(t *testing.T, db app.Store, id int64) app.Slot {
	t.Helper()
	slot, err := db.Slot(t.Context(), id)
	ok(t, err)
	return slot
}

func reserve(t *testing.T, db app.Store, slotID int64, user string) app.Reservation {
	t.Helper()
	r, err := db.Reserve(t.Context(), app.NewReservation{SlotID: slotID, UserID: user})
	ok(t, err)
	return r
}

func reserveErr(t *testing.T, db app.Store, slotID int64, user string) error {
	t.Helper()
	_, err := db.Reserve(t.Context(), app.NewReservation{SlotID: slotID, UserID: user})
	return err
}

func hold(t *testing.T, db app.Store, slotID int64, user string, d time.Duration) app.Reservation {
	t.Helper()
	r, err := db.Reserve(t.Context(), app.NewReservation{SlotID: slotID, UserID: user, Hold: d})
	ok(t, err)
	return r
}

func live(t *testing.T, db app.Store, slotID int64) []app.Reservation {
	t.Helper()
	rs, err := db.Reservations(t.Context(), slotID, 0, app.MaxPage)
	ok(t, err)
	return rs
}

func users(rs []app.Reservation) []string {
	names := []string{}
	for _, r := range rs {
		names = append(names, r.UserID)
	}
	return names
}

// reserved requires what the slot says and what its list says to be n.
func reserved(t *testing.T, db app.Store, slotID int64, n int) {
	t.Helper()
	require.Equal(t, n, getSlot(t, db, slotID).Reserved)
	require.Len(t, live(t, db, slotID), n)
}

// clean requires that the store, counting again, finds nothing broken.
func clean(t *testing.T, db app.Store) {
	t.Helper()
	faults, err := db.Check(t.Context())
	ok(t, err)
	require.Empty(t, faults)
}

// until polls, since only the database knows the time that is waited for.
func until(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !reached(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			require.FailNow(t, "never: "+what)
		}
	}
}

// expired waits until no more than n reservations of the slot are live.
func expired(t *testing.T, db app.Store, slotID int64, n int) {
	t.Helper()
	until(t, "the holds expire", func() bool { return getSlot(t, db, slotID).Reserved <= n })
}

// failures requires err to be a *ManyError of exactly these, by position.
func failures(t *testing.T, err error, want map[int]error) {
	t.Helper()
	var many *app.ManyError
	require.ErrorAs(t, err, &many)
	last := -1
	for _, f := range many.Failures {
		require.Greater(t, f.Index, last, "ascending by position")
		last = f.Index
		require.Contains(t, want, f.Index, "item %d: %v", f.Index, f.Err)
		is(t, want[f.Index], f.Err)
	}
	require.Len(t, many.Failures, len(want), "each that failed is named: %v", err)
}

// size is n, or less of it with -short.
func size(n int) int {
	if testing.Short() {
		return max(1, n/5)
	}
	return n
}

// period is d, or a fifth with -short.
func period(d time.Duration) time.Duration {
	if testing.Short() {
		return d / 5
	}
	return d
}

// givenUp: a context that ended before the call.
func givenUp(t *testing.T, db app.Store) {
	slot := newSlot(t, db, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 { // a pool must not break over it either
		_, err := db.Reserve(ctx, app.NewReservation{SlotID: slot.ID, UserID: "alice"})
		require.Error(t, err)
		_, err = db.Slot(ctx, slot.ID)
		require.Error(t, err)
		_, err = db.Book(ctx, []app.NewBooking{{Resource: "none", UserID: "alice", StartsAt: at(0), EndsAt: at(9)}})
		require.Error(t, err)
	}
	reserved(t, db, slot.ID, 0)
	reserve(t, db, slot.ID, "alice")
}
