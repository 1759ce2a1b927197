package app

import (
	"context"
	"fmt"
	"time"
)

// Store is the port to a database. Each method is one whole transaction that
// may be run again from its start; time is the database's own clock, and holds
// that have expired count as gone in every answer, swept or not.
//
// Beside the errors named, every method may return ErrTransient, ErrBusy,
// ErrUnavailable and, when it writes, ErrOutcomeUnknown; all wrapped, with the
// driver's own error as a further cause.
type Store interface {
	// CreateSlot stores a slot; an unknown resource is created as a place.
	// A slot whose Ref is already stored is returned as it stands and not
	// changed (created is false then). Errors: ErrSlotOverlap.
	CreateSlot(ctx context.Context, s NewSlot) (slot Slot, created bool, err error)
	// Slot returns one slot. Errors: ErrSlotNotFound.
	Slot(ctx context.Context, id int64) (Slot, error)
	// Slots returns at most q.Limit slots by start, then id, in one query.
	Slots(ctx context.Context, q SlotQuery) ([]Slot, error)
	// EditSlot changes what e names if the slot has this version, and counts
	// the version up. Errors: ErrSlotNotFound, ErrVersionMismatch,
	// ErrSlotOverlap, *CapacityBelowReservedError, *ValidationError (the start
	// is not before the end once both are known).
	EditSlot(ctx context.Context, id, version int64, e SlotEdit) (Slot, error)
	// DeleteSlot removes a slot without live reservations; version 0 means
	// whichever. Errors: ErrSlotNotFound, ErrVersionMismatch, ErrSlotHasReservations.
	DeleteSlot(ctx context.Context, id, version int64) error

	// Reserve takes one place. Errors, checked in this order: ErrSlotNotFound,
	// ErrAlreadyReserved, ErrSlotStarted, ErrSlotFull; ErrUnsupported for a
	// hold that the tables cannot keep.
	Reserve(ctx context.Context, r NewReservation) (Reservation, error)
	// ReserveAll takes a place in each of several different slots or in none.
	// Errors: *ManyError over the errors of Reserve.
	ReserveAll(ctx context.Context, rs []NewReservation) ([]Reservation, error)
	// Reservation returns a live reservation. Errors: ErrSlotNotFound,
	// ErrReservationNotFound.
	Reservation(ctx context.Context, slotID int64, userID string) (Reservation, error)
	// Reservations returns at most limit live reservations of a slot, oldest
	// (lowest id) first, with ids above after. Errors: ErrSlotNotFound.
	Reservations(ctx context.Context, slotID, after int64, limit int) ([]Reservation, error)
	// Confirm turns a hold into a reservation; one that is confirmed stays so.
	// Errors: ErrSlotNotFound, ErrReservationNotFound, ErrHoldExpired.
	Confirm(ctx context.Context, slotID int64, userID string) (Reservation, error)
	// Cancel gives the place back at once. Errors: ErrSlotNotFound,
	// ErrReservationNotFound.
	Cancel(ctx context.Context, slotID int64, userID string) error

	// CreateResource stores a resource. Errors: ErrResourceExists.
	CreateResource(ctx context.Context, r Resource) (Resource, error)
	// Resource returns one resource by its key. Errors: ErrResourceNotFound.
	Resource(ctx context.Context, key string) (Resource, error)
	// Resources returns at most limit resources by key, byte by byte, with
	// keys above after.
	Resources(ctx context.Context, after string, limit int) ([]Resource, error)

	// Book takes each of the resources for its range, or none of them. A
	// resource may occur more than once with ranges that do not overlap.
	// Errors: *ManyError over ErrResourceNotFound, ErrResourceBusy and
	// *ValidationError (a place named as a thing, or the reverse).
	Book(ctx context.Context, bs []NewBooking) ([]Booking, error)
	// Bookings returns at most q.Limit live bookings of a resource that
	// overlap [q.From, q.To), by start, then id. Errors: ErrResourceNotFound.
	Bookings(ctx context.Context, q BookingQuery) ([]Booking, error)
	// ConfirmBooking is Confirm for a booking. Errors: ErrBookingNotFound,
	// ErrHoldExpired.
	ConfirmBooking(ctx context.Context, id int64) (Booking, error)
	// CancelBooking frees the range at once. Errors: ErrBookingNotFound.
	CancelBooking(ctx context.Context, id int64) error
	// FreeRanges returns what no live booking and no slot of the resource
	// takes within [q.From, q.To), in ranges of at least q.Minimum, ascending,
	// in one query. Errors: ErrResourceNotFound.
	FreeRanges(ctx context.Context, q FreeQuery) ([]Range, error)

	// Sweep marks holds that have expired, at most limit of each kind, and
	// forgets those that expired more than a day ago. It returns how many
	// holds it freed; run twice or by two replicas it frees each once.
	Sweep(ctx context.Context, limit int) (freed int, err error)
	// Check counts again from the rows and returns what is broken.
	Check(ctx context.Context) ([]Fault, error)
	// Ready says whether the database answers and its schema is the one that
	// this program needs. Errors: ErrUnavailable.
	Ready(ctx context.Context) error
	// Close ends the connections; it waits for those in use.
	Close() error
}

// Batcher is a Store that can write many requests in one transaction.
type Batcher interface {
	// Write judges each op on its own, in order, and writes what is allowed in
	// one transaction, slots locked by ascending id. Outcomes have the order
	// of ops; the errors in them are those of Reserve, Confirm and Cancel.
	// When it returns an error nothing is known to be written and no op was
	// judged. With wait it waits for slots that another transaction has
	// locked; without, their ops get ErrTransient and the others go on (an
	// engine that locks the whole database always waits). A Confirm or Cancel
	// must not follow a Reserve of the same slot and user within ops.
	Write(ctx context.Context, ops []Op, wait bool) ([]Outcome, error)
	// Peek answers without a lock, from one snapshot taken after the call
	// began, which of these Reserve ops are refused at that moment:
	// ErrSlotNotFound, ErrAlreadyReserved, ErrSlotStarted or ErrSlotFull. A
	// nil means that only Write can tell.
	Peek(ctx context.Context, ops []Op) ([]error, error)
}

// Action is what an Op does.
type Action uint8

// The actions that may be written together.
const (
	ActReserve Action = iota
	ActConfirm
	ActCancel
)

// Op is one waiting request to a Batcher. Hold, AllowPast and CreatedAt are
// those of NewReservation and count for ActReserve alone.
type Op struct {
	Action    Action
	SlotID    int64
	UserID    string
	Hold      time.Duration
	AllowPast bool
	CreatedAt time.Time
}

// Outcome is what became of an Op: a reservation (ActReserve, ActConfirm),
// nothing (ActCancel), or Err.
type Outcome struct {
	Reservation Reservation
	Err         error
}

// Fault is one finding of Check.
type Fault struct {
	Kind     FaultKind
	SlotID   int64  // 0 when Kind is FaultOverlap
	Resource string // the key, when Kind is FaultOverlap
	Capacity int    // of the slot
	Counter  int    // reserved, as the database keeps it; equals Counted where none is kept
	Counted  int    // live reservations, counted from the rows
	Detail   string // a sentence for a person
}

// FaultKind names what is broken.
type FaultKind string

// The kinds of Fault.
const (
	FaultOverFull FaultKind = "over-full" // more live reservations than capacity
	FaultCounter  FaultKind = "counter"   // the kept counter is not the count
	FaultOverlap  FaultKind = "overlap"   // a resource is taken twice at a time
)

// Described returns the finding about a slot with its Kind and Detail set from
// the figures.
func (f Fault) Described() Fault {
	if f.Counted > f.Capacity {
		f.Kind = FaultOverFull
		f.Detail = fmt.Sprintf("slot %d holds %d live reservations and has capacity %d", f.SlotID, f.Counted, f.Capacity)
		return f
	}
	f.Kind = FaultCounter
	f.Detail = fmt.Sprintf("slot %d counts %d reserved and holds %d live reservations", f.SlotID, f.Counter, f.Counted)
	return f
}
