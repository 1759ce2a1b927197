// Package conformance is the one suite that every engine passes: what app.Store
// and app.Batcher promise, each promise a subtest with a name of its own.
//
// An engine's store_test.go calls Run. Each subtest opens a store of its own,
// and the suite knows nothing of the database behind it; what an older program
// does past the API comes in through Options.Foreign.
//
//	go test ./sqlite -run 'TestStore/races/ten_at_once_for_the_last_place'
//	go test ./sqlite -short        # the same subtests, fewer rounds
package conformance

import (
	"testing"
	"time"

	"slotkeeper/app"
)

// Options are what the suite needs of an engine beside its Store. What is nil
// is skipped, and the skip says so.
type Options struct {
	// Foreign is another program on the database of db. It is called in the
	// test's goroutine and cleans up by t.Cleanup.
	Foreign func(t *testing.T, db app.Store) Foreign
	// Reopen returns a second Store on the database of db, as another replica
	// has it.
	Reopen func(t *testing.T, db app.Store) app.Store
	// OpenSmall is open with a pool of 4 connections.
	OpenSmall func(t *testing.T) app.Store
	// NoHolds says that these tables cannot keep holds: each is refused with
	// app.ErrUnsupported, and the subtests about them are skipped.
	NoHolds bool
}

// Foreign is an older program or a clerk with a SQL prompt: it writes plain SQL
// through connections of its own, takes no locks beforehand and knows nothing
// of holds. Errors are the database's own; the suite looks only at whether
// there is one. Methods are called from many goroutines.
type Foreign interface {
	// InsertReservation writes one confirmed reservation.
	InsertReservation(slotID int64, user string) error
	// InsertReservations writes several in one INSERT statement.
	InsertReservations(rows []app.Place) error
	// MoveReservation sets the slot of a reservation by one UPDATE.
	MoveReservation(user string, from, to int64) error
	DeleteReservation(slotID int64, user string) error
	SetCapacity(slotID int64, capacity int) error
	// InsertSlot writes a slot of an existing resource, a place.
	InsertSlot(resource string, from, to time.Time) error
	// InsertBooking writes a confirmed booking of an existing resource, a place.
	InsertBooking(resource, user string, from, to time.Time) error
	// LiveCount counts the rows that are live reservations of a slot by the
	// database's clock, whatever any counter says.
	LiveCount(slotID int64) (int, error)
	// Overlaps counts, from the rows, pairs of slots and live bookings of one
	// resource that share an instant.
	Overlaps() (int, error)
}

// SlotLocker is a Foreign that can hold a slot as a transaction does that has
// written to it and not yet committed. release ends it; an engine that locks
// whole files has no such thing.
type SlotLocker interface {
	HoldSlotLock(slotID int64) (release func() error, err error)
}

// Run runs the suite. open returns a fresh, empty store with the current schema
// and registers its clean-up with t; it is called from parallel tests.
func Run(t *testing.T, open func(t *testing.T) app.Store, opts Options) {
	s := suite{open, opts}
	t.Run("slots", s.slots)
	t.Run("reservations", s.reservations)
	t.Run("holds", s.holds)
	t.Run("many", s.many)
	t.Run("resources", s.resources)
	t.Run("bookings", s.bookings)
	t.Run("free", s.free)
	t.Run("batch", s.batch)
	t.Run("foreign", s.foreign)
	t.Run("races", s.races)
	t.Run("operations", s.operations)
}

type suite struct {
	open func(t *testing.T) app.Store
	opts Options
}

// check runs f on a store of its own, beside other checks of its group.
func (s suite) check(t *testing.T, name string, f func(t *testing.T, db app.Store)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		f(t, s.open(t))
	})
}

// held is check for what needs holds.
func (s suite) held(t *testing.T, name string, f func(t *testing.T, db app.Store)) {
	t.Run(name, func(t *testing.T) {
		if s.opts.NoHolds {
			t.Skip("these tables cannot keep holds")
		}
		t.Parallel()
		f(t, s.open(t))
	})
}

// alone is check for races, which measure time or need the processors.
func (s suite) alone(t *testing.T, name string, f func(t *testing.T, db app.Store)) {
	t.Run(name, func(t *testing.T) { f(t, s.open(t)) })
}

// operations are what `slotkeeper` itself asks of a store.
func (s suite) operations(t *testing.T) {
	s.check(t, "a migrated store is ready", func(t *testing.T, db app.Store) {
		ok(t, db.Ready(t.Context()))
	})
	s.check(t, "an empty store has no faults", func(t *testing.T, db app.Store) { clean(t, db) })
	s.check(t, "a call that was given up writes nothing", givenUp)
	t.Run("a second store sees what the first wrote", func(t *testing.T) {
		t.Parallel()
		db := s.open(t)
		other := s.reopen(t, db)
		slot := newSlot(t, db, 1)
		reserve(t, other, slot.ID, "alice")
		is(t, app.ErrSlotFull, reserveErr(t, db, slot.ID, "bob"))
	})
}

func (s suite) reopen(t *testing.T, db app.Store) app.Store {
	t.Helper()
	if s.opts.Reopen == nil {
		t.Skip("SKIPPED: this engine's test offers no Reopen, so two replicas are not tested")
	}
	return s.opts.Reopen(t, db)
}

func (s suite) foreigner(t *testing.T, db app.Store) Foreign {
	t.Helper()
	if s.opts.Foreign == nil {
		t.Skip("SKIPPED: this engine's test offers no Foreign, so programs that write past the API are not tested")
	}
	return s.opts.Foreign(t, db)
}

func (s suite) locker(t *testing.T, db app.Store) SlotLocker {
	t.Helper()
	l, can := s.foreigner(t, db).(SlotLocker)
	if !can {
		t.Skip("SKIPPED: this engine's Foreign has no HoldSlotLock, so a slot locked elsewhere is not tested")
	}
	return l
}
