package conformance

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

// foreign is about programs that write past the API: the promise holds for
// them, and what they write counts for everyone else.
func (s suite) foreign(t *testing.T) {
	s.written(t, "its reservation counts", foreignCounts)
	s.written(t, "it cannot overbook", foreignCannotOverbook)
	s.written(t, "a statement of several rows is judged whole", foreignStatement)
	s.written(t, "it cannot move into a full slot", foreignMoves)
	s.written(t, "it cannot lower capacity below what is reserved", foreignCapacity)
	s.written(t, "it cannot take a resource twice", foreignRanges)
	t.Run("64 of both at once", func(t *testing.T) {
		for name, cfg := range map[string]app.Config{"service": {}, "combined": {Combine: true}} {
			s.alone(t, name, func(t *testing.T, db app.Store) {
				foreignRace(t, db, patient(t, db, cfg), s.foreigner(t, db))
			})
		}
	})
	s.alone(t, "both cancel and move at once", func(t *testing.T, db app.Store) {
		foreignChurn(t, db, patient(t, db, app.Config{Combine: true}), s.foreigner(t, db))
	})
}

func (s suite) written(t *testing.T, name string, f func(t *testing.T, db app.Store, other Foreign)) {
	s.check(t, name, func(t *testing.T, db app.Store) { f(t, db, s.foreigner(t, db)) })
}

// counted requires n live reservations, by the API and by the rows.
func counted(t *testing.T, db app.Store, other Foreign, slotID int64, n int) {
	t.Helper()
	reserved(t, db, slotID, n)
	got, err := other.LiveCount(slotID)
	ok(t, err)
	require.Equal(t, n, got, "counted from the rows")
}

// Seen red with: rows that the triggers do not count; deletions that they do
// not count.
func foreignCounts(t *testing.T, db app.Store, other Foreign) {
	slot := newSlot(t, db, 2)
	ok(t, other.InsertReservation(slot.ID, "clerk's"))
	counted(t, db, other, slot.ID, 1)
	is(t, app.ErrAlreadyReserved, reserveErr(t, db, slot.ID, "clerk's"))
	r, err := db.Reservation(t.Context(), slot.ID, "clerk's")
	ok(t, err)
	require.Equal(t, app.Confirmed, r.Status)
	require.False(t, r.CreatedAt.IsZero())
	reserve(t, db, slot.ID, "alice")
	is(t, app.ErrSlotFull, reserveErr(t, db, slot.ID, "bob"))
	is(t, app.ErrSlotHasReservations, db.DeleteSlot(t.Context(), slot.ID, 0))

	ok(t, other.DeleteReservation(slot.ID, "alice"))
	counted(t, db, other, slot.ID, 1)
	is(t, app.ErrReservationNotFound, db.Cancel(t.Context(), slot.ID, "alice"))
	ok(t, db.Cancel(t.Context(), slot.ID, "clerk's"))
	counted(t, db, other, slot.ID, 0)
	ok(t, db.DeleteSlot(t.Context(), slot.ID, 0))
	clean(t, db)
}

// Seen red with: the trigger and the CHECK of capacity left out.
func foreignCannotOverbook(t *testing.T, db app.Store, other Foreign) {
	slot := newSlot(t, db, 2)
	reserve(t, db, slot.ID, "alice")
	require.Error(t, other.InsertReservation(slot.ID, "alice"), "twice")
	require.Error(t, other.InsertReservation(slot.ID+1000, "bob"), "no such slot")
	ok(t, other.InsertReservation(slot.ID, "bob"))
	for i := range 3 { // its connections stay of use
		require.Error(t, other.InsertReservation(slot.ID, fmt.Sprint("user ", i)))
	}
	counted(t, db, other, slot.ID, 2)
	ok(t, other.DeleteReservation(slot.ID, "bob"))
	ok(t, other.InsertReservation(slot.ID, "carol"))
	counted(t, db, other, slot.ID, 2)
	clean(t, db)
}

// Case 17. Seen red with: RAISE(FAIL), which keeps the earlier rows; a trigger
// that counts one row a statement.
func foreignStatement(t *testing.T, db app.Store, other Foreign) {
	a, full, c := newSlot(t, db, 3), newSlot(t, db, 1), newSlot(t, db, 3)
	reserve(t, db, full.ID, "alice")
	row := func(slot app.Slot, user string) app.Place { return app.Place{SlotID: slot.ID, UserID: user} }
	for _, rows := range [][]app.Place{
		{row(a, "bob"), row(full, "bob"), row(c, "bob")},
		{row(full, "bob"), row(a, "bob")},
		{row(c, "bob"), row(full, "alice")},
		{row(a, "1"), row(a, "2"), row(a, "3"), row(a, "4")}, // too many in one slot
		{row(a, "bob"), row(a, "bob")},
	} {
		require.Error(t, other.InsertReservations(rows), "%v", rows)
		counted(t, db, other, a.ID, 0)
		counted(t, db, other, full.ID, 1)
		counted(t, db, other, c.ID, 0)
	}
	ok(t, other.InsertReservations([]app.Place{row(a, "1"), row(c, "1"), row(a, "2"), row(a, "3")}))
	counted(t, db, other, a.ID, 3)
	counted(t, db, other, c.ID, 1)
	is(t, app.ErrSlotFull, reserveErr(t, db, a.ID, "4"))
	clean(t, db)
}

// Case 17. Seen red with: the new slot not counted up; the trigger and the
// CHECK of capacity left out.
func foreignMoves(t *testing.T, db app.Store, other Foreign) {
	from, full, to := newSlot(t, db, 2), newSlot(t, db, 1), newSlot(t, db, 2)
	reserve(t, db, from.ID, "alice")
	reserve(t, db, from.ID, "bob")
	reserve(t, db, full.ID, "carol")
	require.Error(t, other.MoveReservation("alice", from.ID, full.ID))
	counted(t, db, other, from.ID, 2)
	counted(t, db, other, full.ID, 1)
	ok(t, other.MoveReservation("alice", from.ID, to.ID))
	counted(t, db, other, from.ID, 1)
	counted(t, db, other, to.ID, 1)
	reserve(t, db, to.ID, "bob")
	require.Error(t, other.MoveReservation("bob", from.ID, to.ID), "he is there already, and it is full")
	ok(t, other.DeleteReservation(to.ID, "alice"))
	require.Error(t, other.MoveReservation("bob", from.ID, to.ID), "he is there already")
	require.Error(t, other.MoveReservation("bob", from.ID, to.ID+1000), "no such slot")
	counted(t, db, other, from.ID, 1)
	counted(t, db, other, to.ID, 1)
	clean(t, db)
}

// Seen red with: the CHECK left out.
func foreignCapacity(t *testing.T, db app.Store, other Foreign) {
	slot := newSlot(t, db, 3)
	reserve(t, db, slot.ID, "alice")
	reserve(t, db, slot.ID, "bob")
	require.Error(t, other.SetCapacity(slot.ID, 1))
	require.Error(t, other.SetCapacity(slot.ID, 0))
	require.Equal(t, 3, getSlot(t, db, slot.ID).Capacity)
	ok(t, other.SetCapacity(slot.ID, 2))
	is(t, app.ErrSlotFull, reserveErr(t, db, slot.ID, "carol"))
	counted(t, db, other, slot.ID, 2)
	clean(t, db)
}

// Seen red with: the triggers on bookings left out.
func foreignRanges(t *testing.T, db app.Store, other Foreign) {
	create(t, db, span("room", 0, 30, 1))
	book(t, db, "room", "alice", 30, 60)
	for _, r := range [][2]int{{0, 30}, {10, 20}, {30, 60}, {59, 70}, {20, 40}, {-10, 100}} {
		require.Error(t, other.InsertBooking("room", "bob", at(r[0]), at(r[1])), "%v", r)
		require.Error(t, other.InsertSlot("room", at(r[0]), at(r[1])), "%v", r)
	}
	require.Error(t, other.InsertBooking("room", "bob", at(80), at(80)), "an empty range")
	require.Error(t, other.InsertSlot("room", at(80), at(70)), "a range turned round")
	ok(t, other.InsertBooking("room", "bob", at(60), at(70)))
	ok(t, other.InsertSlot("room", at(70), at(80)))
	busy(t, db, ask("room", "carol", 65, 66))
	busy(t, db, ask("room", "carol", 75, 76))
	is(t, app.ErrSlotOverlap, createErr(t, db, span("room", 69, 71, 1)))
	require.Equal(t, spans(80, 100), freeRanges(t, db, "room", 0, 100, 1))
	n, err := other.Overlaps()
	ok(t, err)
	require.Zero(t, n)
	clean(t, db)
}

// Case 19: what the foreign program is told does not matter (it may be a
// deadlock's victim), the API's clients are told the truth. Seen red with: the
// CHECK of capacity left out.
func foreignRace(t *testing.T, db app.Store, service *app.Service, other Foreign) {
	for range size(10) {
		slot := newSlot(t, db, 10)
		var theirs [64]bool
		errs := atOnce(64, func(i int) error {
			user := fmt.Sprint("user ", i)
			if i%2 == 0 {
				theirs[i] = other.InsertReservation(slot.ID, user) == nil
				return nil
			}
			_, err := service.Reserve(t.Context(), app.NewReservation{SlotID: slot.ID, UserID: user})
			return err
		})
		count(t, errs, app.ErrSlotFull)
		counted(t, db, other, slot.ID, 10)
		want := []string{}
		for i, err := range errs {
			if theirs[i] || i%2 == 1 && err == nil {
				want = append(want, fmt.Sprint("user ", i))
			}
		}
		require.ElementsMatch(t, want, users(live(t, db, slot.ID)))
	}
	clean(t, db)
}

// Seen red with: the trigger and the CHECK of capacity left out.
func foreignChurn(t *testing.T, db app.Store, service *app.Service, other Foreign) {
	slots := []int64{newSlot(t, db, 2).ID, newSlot(t, db, 3).ID, newSlot(t, db, 9).ID}
	stop := watch(t, db, slots...)
	end := time.Now().Add(period(2 * time.Second))
	errs := atOnce(24, func(i int) error {
		r, user, mine := rand.New(rand.NewPCG(4, uint64(i))), fmt.Sprint("user ", i), map[int64]bool{}
		for time.Now().Before(end) {
			a, b := slots[r.IntN(3)], slots[r.IntN(3)]
			if i%2 == 0 {
				if err := step(t, service, r.IntN(5), a, user, mine); err != nil {
					return err
				}
				continue
			}
			switch r.IntN(5) { // refusals, deadlocks and all: what counts is what is there in the end
			case 0, 1:
				_ = other.InsertReservation(a, user)
			case 2:
				_ = other.InsertReservations([]app.Place{{SlotID: b, UserID: user}, {SlotID: a, UserID: user}})
			case 3:
				_ = other.MoveReservation(user, a, b)
			default:
				_ = other.DeleteReservation(a, user)
			}
		}
		return nil
	})
	stop()
	count(t, errs)
	for _, id := range slots {
		slot := getSlot(t, db, id)
		counted(t, db, other, id, slot.Reserved)
		require.LessOrEqual(t, slot.Reserved, slot.Capacity)
	}
	clean(t, db)
}
