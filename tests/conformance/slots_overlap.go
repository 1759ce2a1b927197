package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

// Case 9. Seen red with: ranges closed at either end; only slots that start
// within the new one looked at.
func slotsOverlap(t *testing.T, db app.Store) {
	first := create(t, db, span("room", 0, 30, 1))
	create(t, db, span("room", 30, 60, 1))  // back to back behind
	create(t, db, span("room", -30, 0, 1))  // and before
	create(t, db, span("other", 10, 20, 1)) // another resource
	create(t, db, span("ROOM", 10, 20, 1))  // and another again
	create(t, db, span("", 10, 20, 1))      // of no resource: no rule
	create(t, db, span("", 10, 20, 1))

	before := list(t, db, app.SlotQuery{})
	early, late := span("room", 59, 90, 1), span("room", -90, -30, 1)
	early.StartsAt = at(60).Add(-instant)
	late.EndsAt = at(-30).Add(instant)
	for name, n := range map[string]app.NewSlot{
		"equal":                  span("room", 0, 30, 1),
		"contained":              span("room", 10, 20, 1),
		"containing":             span("room", -5, 35, 1),
		"same start":             span("room", 0, 5, 1),
		"same end":               span("room", 25, 30, 1),
		"over two":               span("room", 20, 40, 1),
		"over all":               span("room", -100, 100, 1),
		"an instant too early":   early,
		"an instant too late":    late,
		"of however many places": span("room", 10, 20, 50),
	} {
		err := createErr(t, db, n)
		require.ErrorIs(t, err, app.ErrSlotOverlap, name)
		is(t, app.ErrSlotOverlap, err)
	}
	require.Equal(t, before, list(t, db, app.SlotQuery{}), "what was refused is not there")

	ok(t, db.DeleteSlot(t.Context(), first.ID, 0))
	create(t, db, span("room", 10, 20, 1)) // the range is free again
	is(t, app.ErrSlotOverlap, createErr(t, db, span("room", 0, 30, 1)))
	clean(t, db)
}

// Seen red with: no trigger on UPDATE; a slot that is in its own way.
func slotEditedIntoAnother(t *testing.T, db app.Store) {
	slot := create(t, db, span("room", 0, 30, 1))
	create(t, db, span("room", 60, 90, 1))
	free := create(t, db, span("", 60, 90, 1))
	version := slot.Version
	edit := func(from, to int) error {
		starts, ends := at(from), at(to)
		got, err := db.EditSlot(t.Context(), slot.ID, version, app.SlotEdit{StartsAt: &starts, EndsAt: &ends})
		if err == nil {
			version = got.Version
		}
		return err
	}
	for _, r := range [][2]int{{60, 90}, {70, 80}, {0, 61}, {50, 100}, {89, 100}} {
		is(t, app.ErrSlotOverlap, edit(r[0], r[1]))
		require.Equal(t, slot, getSlot(t, db, slot.ID), "refused whole")
	}
	ok(t, edit(30, 60)) // up to its neighbour
	ok(t, edit(20, 50)) // over its own old range
	ok(t, edit(90, 95)) // to the other side
	starts := at(70)
	_, err := db.EditSlot(t.Context(), slot.ID, version, app.SlotEdit{StartsAt: &starts}) // 70 to 95: one end alone
	is(t, app.ErrSlotOverlap, err)
	two := 2
	_, err = db.EditSlot(t.Context(), slot.ID, version, app.SlotEdit{Capacity: &two})
	ok(t, err)

	_, err = db.EditSlot(t.Context(), free.ID, free.Version, app.SlotEdit{StartsAt: &starts})
	ok(t, err) // of no resource: no rule
	clean(t, db)
}
