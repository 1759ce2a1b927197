package app

import (
	"errors"
	"fmt"
	"strings"
)

// The refusals and failures that a Store and a Service return, always wrapped
// so that errors.Is finds them. What HTTP makes of them stands in one table in
// app/httpapi/errors.go.
var (
	// ErrAlreadyReserved: this user holds a live reservation of this slot.
	ErrAlreadyReserved = errors.New("already reserved")
	// ErrSlotFull: no capacity is left.
	ErrSlotFull = errors.New("slot is full")
	// ErrSlotStarted: the slot's start has passed by the database's clock.
	ErrSlotStarted = errors.New("slot has started")
	// ErrSlotOverlap: a slot or booking of the same resource overlaps this slot.
	ErrSlotOverlap = errors.New("slot overlaps")
	// ErrResourceBusy: a live booking or a slot of the resource overlaps this booking.
	ErrResourceBusy = errors.New("resource is busy")
	// ErrHoldExpired: the hold to confirm is over.
	ErrHoldExpired = errors.New("hold has expired")
	// ErrSlotHasReservations: a slot with live reservations is not deleted.
	ErrSlotHasReservations = errors.New("slot has reservations")
	// ErrResourceExists: another resource has this key.
	ErrResourceExists = errors.New("resource exists")
	// ErrVersionMismatch: the edit names another version than the slot has.
	ErrVersionMismatch = errors.New("version mismatch")

	// ErrSlotNotFound and its like: there is no such thing.
	ErrSlotNotFound        = errors.New("slot not found")
	ErrReservationNotFound = errors.New("reservation not found")
	ErrResourceNotFound    = errors.New("resource not found")
	ErrBookingNotFound     = errors.New("booking not found")

	// ErrTransient: the database gave this transaction up (deadlock,
	// serialization failure, lock time-out); nothing was written and the whole
	// of it may be run again. A Store returns it, a Service never does.
	ErrTransient = errors.New("transient database conflict")
	// ErrOutcomeUnknown: the connection broke after the commit was sent and
	// before its answer, so the transaction is in the database or it is not.
	// A Store returns it, a Service never does.
	ErrOutcomeUnknown = errors.New("commit outcome unknown")
	// ErrUnavailable: the database cannot be reached.
	ErrUnavailable = errors.New("database unavailable")
	// ErrBusy: no answer could be had in time, or the queue is full; nothing
	// was written.
	ErrBusy = errors.New("busy")
	// ErrUnsupported: the tables that the service runs on cannot say this (a
	// hold, where an older program's bookings have no expiry).
	ErrUnsupported = errors.New("not supported by these tables")
)

// CapacityBelowReservedError refuses a capacity lower than what is reserved.
type CapacityBelowReservedError struct {
	Reserved int // live reservations at that moment
}

func (e *CapacityBelowReservedError) Error() string {
	return fmt.Sprintf("capacity is below the %d reserved", e.Reserved)
}

// FieldError says what is wrong with one value of a request.
type FieldError struct {
	Field  string // as the client named it: "capacity", "slot_ids/3"
	Detail string // a sentence for a person
}

// ValidationError lists every bad field of a request, not the first alone.
type ValidationError struct {
	Fields []FieldError
}

func (e *ValidationError) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = f.Field + ": " + f.Detail
	}
	return "invalid: " + strings.Join(parts, "; ")
}

// Failure is one refused item of a request for several.
type Failure struct {
	Index int   // position in the request, from 0
	Err   error // one of the errors above
}

// ManyError refuses a request for several things, of which nothing was
// written, and names each one that failed. errors.Is sees every cause.
type ManyError struct {
	Failures []Failure // at least one, ascending by Index
}

func (e *ManyError) Error() string {
	parts := make([]string, len(e.Failures))
	for i, f := range e.Failures {
		parts[i] = fmt.Sprintf("item %d: %v", f.Index, f.Err)
	}
	return strings.Join(parts, "; ")
}

// Unwrap gives the causes in the order of the request.
func (e *ManyError) Unwrap() []error {
	errs := make([]error, len(e.Failures))
	for i, f := range e.Failures {
		errs[i] = f.Err
	}
	return errs
}
