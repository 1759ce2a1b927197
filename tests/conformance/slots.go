package conformance

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

func (s suite) slots(t *testing.T) {
	s.check(t, "created is what is stored", slotStored)
	s.check(t, "what was never created is not found", slotNotFound)
	s.check(t, "listed by start, then id", slotsListed)
	s.check(t, "listed page by page", slotsPaged)
	s.check(t, "a ref is remembered", slotRef)
	s.check(t, "an unknown resource becomes a place", slotResource)
	s.check(t, "edited under its version", slotEdited)
	s.check(t, "capacity is not lowered below what is reserved", capacityBelowReserved)
	s.check(t, "slots of one resource do not overlap", slotsOverlap)
	s.check(t, "an edit into another slot is refused", slotEditedIntoAnother)
	s.check(t, "deleted without live reservations", slotDeleted)
}

// Seen red with: times in the local zone; times cut to the millisecond.
func slotStored(t *testing.T, db app.Store) {
	for name, n := range map[string]app.NewSlot{
		"to the microsecond": {
			Resource: "dr-lind", StartsAt: at(0).Add(123456 * time.Microsecond), EndsAt: at(20).Add(999999 * time.Microsecond), Capacity: 3,
		},
		"the shortest": {StartsAt: at(0), EndsAt: at(0).Add(instant), Capacity: 1},
		"the widest": {
			StartsAt: time.Date(1900, 1, 1, 0, 0, 0, 1000, time.UTC),
			EndsAt:   time.Date(9998, 12, 31, 23, 59, 59, 999999000, time.UTC),
			Capacity: app.MaxCapacity,
		},
	} {
		slot := create(t, db, n)
		require.Positive(t, slot.ID, name)
		require.Equal(t, app.Slot{
			ID: slot.ID, Resource: n.Resource, StartsAt: n.StartsAt, EndsAt: n.EndsAt, Capacity: n.Capacity, Version: 1,
		}, slot, name) // equal times in UTC, not merely the same instants
		require.Equal(t, slot, getSlot(t, db, slot.ID), name)
		require.Equal(t, n.Capacity, slot.Available())
	}
}

func slotNotFound(t *testing.T, db app.Store) {
	known := newSlot(t, db, 1).ID
	two := 2
	for _, id := range []int64{known + 1, 999999, 0, -known, math.MaxInt64, math.MinInt64} {
		_, err := db.Slot(t.Context(), id)
		is(t, app.ErrSlotNotFound, err)
		_, err = db.EditSlot(t.Context(), id, 1, app.SlotEdit{Capacity: &two})
		is(t, app.ErrSlotNotFound, err)
		is(t, app.ErrSlotNotFound, db.DeleteSlot(t.Context(), id, 0))
		is(t, app.ErrSlotNotFound, db.DeleteSlot(t.Context(), id, 1))
		is(t, app.ErrSlotNotFound, reserveErr(t, db, id, "alice")) // case 26: not "full"
		_, err = db.Reservation(t.Context(), id, "alice")
		is(t, app.ErrSlotNotFound, err)
		_, err = db.Reservations(t.Context(), id, 0, 10)
		is(t, app.ErrSlotNotFound, err)
		_, err = db.Confirm(t.Context(), id, "alice")
		is(t, app.ErrSlotNotFound, err)
		is(t, app.ErrSlotNotFound, db.Cancel(t.Context(), id, "alice"))
	}
}

// Seen red with: refs compared without case; the resource made before the ref
// was looked up; created true for a known ref.
func slotRef(t *testing.T, db app.Store) {
	n := span("dr-lind", 0, 20, 3)
	n.Ref = "ris/4711"
	first := create(t, db, n)
	reserve(t, db, first.ID, "alice")

	again := span("dr-other", 100, 120, 9) // all but the ref is different
	again.Ref = n.Ref
	for _, n := range []app.NewSlot{n, again} {
		slot, created, err := db.CreateSlot(t.Context(), n)
		ok(t, err)
		require.False(t, created)
		require.Equal(t, getSlot(t, db, first.ID), slot)
		require.Equal(t, 1, slot.Reserved, "as it stands")
	}
	_, err := db.Resource(t.Context(), "dr-other")
	is(t, app.ErrResourceNotFound, err) // nothing was made for what is here already

	for _, ref := range []string{"RIS/4711", "ris/471", "", ""} { // another ref, or none, is another slot
		n := span("", 0, 20, 1)
		n.Ref = ref
		create(t, db, n)
	}
	ok(t, db.Cancel(t.Context(), first.ID, "alice"))
	ok(t, db.DeleteSlot(t.Context(), first.ID, 0))
	require.NotEqual(t, first.ID, create(t, db, n).ID, "forgotten with its slot")
}

func slotResource(t *testing.T, db app.Store) {
	create(t, db, span("dr-lind", 0, 20, 1))
	r, err := db.Resource(t.Context(), "dr-lind")
	ok(t, err)
	require.Positive(t, r.ID)
	require.Equal(t, app.Resource{ID: r.ID, Key: "dr-lind", Name: "dr-lind", Kind: app.KindPlace}, r)
	create(t, db, span("dr-lind", 20, 40, 1))
	again, err := db.Resource(t.Context(), "dr-lind")
	ok(t, err)
	require.Equal(t, r, again)

	drill, err := db.CreateResource(t.Context(), app.Resource{Key: "drill", Name: "The drill", Kind: app.KindThing})
	ok(t, err)
	slot := create(t, db, span("drill", 0, 20, 1))
	require.Equal(t, "drill", slot.Resource)
	again, err = db.Resource(t.Context(), "drill")
	ok(t, err)
	require.Equal(t, drill, again, "one that is known stays what it is")
}

// Seen red with: a version that counts reservations; the version not compared.
func slotEdited(t *testing.T, db app.Store) {
	slot := create(t, db, span("dr-lind", 0, 20, 3))
	reserve(t, db, slot.ID, "alice")
	reserve(t, db, slot.ID, "bob")
	ok(t, db.Cancel(t.Context(), slot.ID, "bob"))
	want := slot
	want.Reserved = 1
	require.Equal(t, want, getSlot(t, db, slot.ID), "the version does not count reservations")

	five, later, end := 5, at(5), at(30)
	for i, e := range []app.SlotEdit{{Capacity: &five}, {StartsAt: &later}, {EndsAt: &end}, {}} {
		var err error
		want, err = e.Apply(want)
		ok(t, err)
		got, err := db.EditSlot(t.Context(), slot.ID, int64(i+1), e)
		ok(t, err)
		require.Equal(t, want, got, "only what was named")
		require.Equal(t, want, getSlot(t, db, slot.ID))
		require.EqualValues(t, i+2, got.Version)
	}
	for _, version := range []int64{4, 6, 0, -1} {
		_, err := db.EditSlot(t.Context(), slot.ID, version, app.SlotEdit{Capacity: &five})
		is(t, app.ErrVersionMismatch, err)
	}
	for _, e := range []app.SlotEdit{{StartsAt: &end}, {EndsAt: &later}} {
		_, err := db.EditSlot(t.Context(), slot.ID, 5, e)
		var invalid *app.ValidationError
		require.ErrorAs(t, err, &invalid, "it would not start before it ends")
	}
	require.Equal(t, want, getSlot(t, db, slot.ID), "what was refused changed nothing")
}

// Case 7. Seen red with: a capacity equal to what is reserved refused; the
// capacity as the number reserved; the CHECK left to refuse it.
func capacityBelowReserved(t *testing.T, db app.Store) {
	slot := newSlot(t, db, 5)
	for _, user := range []string{"a", "b", "c"} {
		reserve(t, db, slot.ID, user)
	}
	before := getSlot(t, db, slot.ID)
	for _, capacity := range []int{2, 1} {
		_, err := db.EditSlot(t.Context(), slot.ID, 1, app.SlotEdit{Capacity: &capacity})
		var below *app.CapacityBelowReservedError
		require.ErrorAs(t, err, &below)
		require.Equal(t, 3, below.Reserved)
		require.Equal(t, before, getSlot(t, db, slot.ID))
	}
	three := 3
	got, err := db.EditSlot(t.Context(), slot.ID, 1, app.SlotEdit{Capacity: &three})
	ok(t, err)
	require.Zero(t, got.Available())
	is(t, app.ErrSlotFull, reserveErr(t, db, slot.ID, "d"))
	four := 4
	_, err = db.EditSlot(t.Context(), slot.ID, 2, app.SlotEdit{Capacity: &four})
	ok(t, err)
	reserve(t, db, slot.ID, "d")
	clean(t, db)
}

// Seen red with: reservations not looked at; the version ignored; ids used
// again (no AUTOINCREMENT).
func slotDeleted(t *testing.T, db app.Store) {
	slot := newSlot(t, db, 2)
	reserve(t, db, slot.ID, "alice")
	for _, version := range []int64{0, 1} {
		is(t, app.ErrSlotHasReservations, db.DeleteSlot(t.Context(), slot.ID, version))
	}
	reserved(t, db, slot.ID, 1)
	ok(t, db.Cancel(t.Context(), slot.ID, "alice"))
	is(t, app.ErrVersionMismatch, db.DeleteSlot(t.Context(), slot.ID, 2))
	getSlot(t, db, slot.ID)
	ok(t, db.DeleteSlot(t.Context(), slot.ID, 1))
	_, err := db.Slot(t.Context(), slot.ID)
	is(t, app.ErrSlotNotFound, err)
	is(t, app.ErrSlotNotFound, db.DeleteSlot(t.Context(), slot.ID, 1))
	is(t, app.ErrSlotNotFound, reserveErr(t, db, slot.ID, "alice"))

	ok(t, db.DeleteSlot(t.Context(), newSlot(t, db, 1).ID, 0))
	last := newSlot(t, db, 1)
	require.Greater(t, last.ID, slot.ID, "an id is never given twice")
	clean(t, db)
}
