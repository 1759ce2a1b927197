package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

// shelf is five slots, by start and then id: early, short and long (which start
// together), x1 and x2 of one resource.
type shelf struct{ early, short, long, x1, x2 app.Slot }

func newShelf(t *testing.T, db app.Store) shelf {
	t.Helper()
	var f shelf
	f.short = create(t, db, span("", 0, 20, 1))
	f.x2 = create(t, db, span("x", 40, 45, 1))
	f.long = create(t, db, span("", 0, 60, 1))
	f.x1 = create(t, db, span("x", 20, 40, 2))
	f.early = create(t, db, span("y", -20, 0, 1))
	return f
}

func list(t *testing.T, db app.Store, q app.SlotQuery) []app.Slot {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = app.MaxPage + 1
	}
	slots, err := db.Slots(t.Context(), q)
	ok(t, err)
	return slots
}

func ids(slots []app.Slot) []int64 {
	list := []int64{}
	for _, s := range slots {
		list = append(list, s.ID)
	}
	return list
}

// Seen red with: > for >= at from and at the minimum, <= for < at to; order by
// id alone; available ignored.
func slotsListed(t *testing.T, db app.Store) {
	require.Empty(t, list(t, db, app.SlotQuery{}))
	f := newShelf(t, db)
	reserve(t, db, f.x1.ID, "alice")
	reserve(t, db, f.x2.ID, "alice")
	f.x1, f.x2 = getSlot(t, db, f.x1.ID), getSlot(t, db, f.x2.ID)
	all := []app.Slot{f.early, f.short, f.long, f.x1, f.x2}
	require.Equal(t, all, list(t, db, app.SlotQuery{}), "as Slot returns each")

	for _, c := range []struct {
		name string
		q    app.SlotQuery
		want []app.Slot
	}{
		{"from is in", app.SlotQuery{From: at(0)}, all[1:]},
		{"one instant later is not", app.SlotQuery{From: at(0).Add(instant)}, all[3:]},
		{"to is out", app.SlotQuery{To: at(20)}, all[:3]},
		{"one instant later is in", app.SlotQuery{To: at(20).Add(instant)}, all[:4]},
		{"it is the start that counts", app.SlotQuery{From: at(10), To: at(15)}, nil},
		{"from and to", app.SlotQuery{From: at(0), To: at(40)}, all[1:4]},
		{"an empty range", app.SlotQuery{From: at(0), To: at(0)}, nil},
		{"a resource", app.SlotQuery{Resource: "x"}, all[3:]},
		{"a resource from", app.SlotQuery{Resource: "x", From: at(40)}, all[4:]},
		{"a resource, byte by byte", app.SlotQuery{Resource: "X"}, nil},
		{"an unknown resource", app.SlotQuery{Resource: "z"}, nil},
		{"with a place left", app.SlotQuery{Available: true}, all[:4]},
		{"a resource with a place left", app.SlotQuery{Resource: "x", Available: true}, all[3:4]},
		{"as long as", app.SlotQuery{Minimum: at(20).Sub(at(0))}, all[:4]},
		{"longer", app.SlotQuery{Minimum: at(20).Sub(at(0)) + instant}, all[2:3]},
		{"at most", app.SlotQuery{Limit: 2}, all[:2]},
	} {
		got := list(t, db, c.q)
		require.Equal(t, ids(c.want), ids(got), c.name)
	}
}

// Seen red with: the id left out of the cursor.
func slotsPaged(t *testing.T, db app.Store) {
	f := newShelf(t, db)
	all := []app.Slot{f.early, f.short, f.long, f.x1, f.x2}
	behind := func(s app.Slot) app.SlotCursor { return app.SlotCursor{StartsAt: s.StartsAt, ID: s.ID} }
	for i, slot := range all {
		require.Equal(t, ids(all[i+1:]), ids(list(t, db, app.SlotQuery{After: behind(slot)})), "behind %d", i)
		require.Equal(t, ids(all[i+1:min(i+3, 5)]), ids(list(t, db, app.SlotQuery{After: behind(slot), Limit: 2})))
	}
	require.Equal(t, ids(all[4:]), ids(list(t, db, app.SlotQuery{After: behind(f.short), Resource: "x", From: at(21)})))
	require.Empty(t, list(t, db, app.SlotQuery{After: behind(f.short), To: at(0)}))
	ok(t, db.DeleteSlot(t.Context(), f.short.ID, 0))
	require.Equal(t, ids(all[2:]), ids(list(t, db, app.SlotQuery{After: behind(f.short)})), "a cursor outlives its slot")

	// Through the Service, which asks for one more to know whether one follows.
	service := app.NewService(db, app.Config{})
	var got []app.Slot
	q := app.SlotQuery{Limit: 2}
	for pages := 1; ; pages++ {
		page, err := service.Slots(t.Context(), q)
		ok(t, err)
		got = append(got, page.Items...)
		if page.Next == nil {
			require.Equal(t, 2, pages)
			break
		}
		q.After = *page.Next
	}
	require.Equal(t, []int64{f.early.ID, f.long.ID, f.x1.ID, f.x2.ID}, ids(got))
}
