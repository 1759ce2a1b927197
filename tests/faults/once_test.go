package faults

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

// What has no key to recognise its own work by is told to the client, and is
// not done a second time: at most once, whichever side of the commit broke.
// Seen red with: app.once returning the store's error as it is (slots, edits
// and bookings were tried again: two slots, a version mismatch, a resource
// that is busy with its own booking).
func TestWhatCannotBeRecognisedIsNotRepeated(t *testing.T) {
	for name, where := range sides() {
		if where == answerTorn {
			continue // some are known to be done then
		}
		t.Run(name, func(t *testing.T) {
			c := newCity(t) // each counts rows of the whole database
			r := c.open(app.Config{})
			done := 1
			if where == statementLost {
				done = 0
			}
			slots := c.slots(4, 5)
			for _, key := range []string{"bay", "van"} {
				_, err := c.books.CreateResource(t.Context(), app.Resource{Key: key, Name: key, Kind: app.KindThing})
				require.NoError(t, err)
			}
			more := 7
			for _, what := range []struct {
				name  string
				run   func() error
				count string // of what was done
			}{
				{"create a slot", func() error {
					_, err := r.CreateSlot(t.Context(), app.NewSlot{StartsAt: at(0), EndsAt: at(10), Capacity: 11})
					return err
				}, "SELECT count(*) FROM slots WHERE capacity = 11"},
				{"create a slot in a place", func() error {
					_, err := r.CreateSlot(t.Context(), app.NewSlot{Resource: "room", StartsAt: at(0), EndsAt: at(10), Capacity: 12})
					return err
				}, "SELECT count(*) FROM slots WHERE capacity = 12"},
				{"create a resource", func() error {
					_, err := r.CreateResource(t.Context(), app.Resource{Key: "lift", Name: "lift", Kind: app.KindThing})
					return err
				}, "SELECT count(*) FROM resources WHERE key = 'lift'"},
				{"edit", func() error {
					_, err := r.EditSlot(t.Context(), slots[0], 1, app.SlotEdit{Capacity: &more})
					return err
				}, "SELECT (version - 1)::int FROM slots WHERE id = (SELECT min(id) FROM slots)"},
				{"delete", func() error { return r.DeleteSlot(t.Context(), slots[3], 0) },
					"SELECT 4 - count(*) FROM slots WHERE capacity IN (5, 7)"},
				{"book", func() error {
					_, err := r.Book(t.Context(), app.NewBooking{Resource: "bay", UserID: "alice", StartsAt: at(0), EndsAt: at(10)})
					return err
				}, "SELECT count(*) FROM bookings WHERE resource_id = (SELECT id FROM resources WHERE key = 'bay')"},
				{"book several", func() error {
					_, err := r.BookAll(t.Context(), []app.NewBooking{
						{Resource: "bay", UserID: "alice", StartsAt: at(20), EndsAt: at(30)},
						{Resource: "van", UserID: "alice", StartsAt: at(20), EndsAt: at(30)}})
					return err
				}, "SELECT count(*) FROM bookings WHERE resource_id = (SELECT id FROM resources WHERE key = 'van')"},
				{"reserve several", func() error {
					_, err := r.ReserveAll(t.Context(), []app.NewReservation{
						{SlotID: slots[1], UserID: "alice"}, {SlotID: slots[2], UserID: "alice"}})
					return err
				}, "SELECT count(*) / 2 FROM reservations"},
			} {
				order := c.proxy.cutAt(&cut{statement: isCommit, where: where})
				err := what.run()
				require.ErrorIs(t, err, app.ErrUnavailable, what.name)
				<-order.made
				c.ended()
				require.Equal(t, done, c.number(what.count), what.name)
			}
			require.Zero(t, r.seen.retried.Load())
			c.sound(r)
		})
	}
}

// A ref, and a booking's id, are keys: these are tried again.
// Seen red with: ImportSlot always run by once; CancelBooking's again taken out.
func TestWhatCanBeRecognisedIsRepeated(t *testing.T) {
	whole := newCity(t)
	for name, where := range sides() {
		t.Run(name, func(t *testing.T) {
			c := whole.in(t)
			r := c.open(app.Config{})
			order := func() { c.proxy.cutAt(&cut{statement: isCommit, where: where}) }
			_, err := c.books.CreateResource(t.Context(), app.Resource{Key: name, Name: "bay", Kind: app.KindThing})
			require.NoError(t, err)
			held, err := r.Book(t.Context(), app.NewBooking{Resource: name, UserID: "alice", StartsAt: at(0), EndsAt: at(10), Hold: app.MaxHold})
			require.NoError(t, err)

			order()
			slot, err := r.CreateSlot(t.Context(), app.NewSlot{Ref: name, StartsAt: at(0), EndsAt: at(10), Capacity: 5})
			require.NoError(t, err)
			require.EqualValues(t, c.number("SELECT id FROM slots WHERE ref = $1", name), slot.ID)

			order()
			confirmed, err := r.ConfirmBooking(t.Context(), held.ID)
			require.NoError(t, err)
			require.Equal(t, app.Confirmed, confirmed.Status)

			order()
			require.NoError(t, r.CancelBooking(t.Context(), held.ID))
			require.Zero(t, c.number("SELECT count(*) FROM bookings"))
			require.EqualValues(t, 3, r.seen.retried.Load())
			c.sound(r)
		})
	}
}
