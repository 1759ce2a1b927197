package app

import (
	"fmt"
	"time"
)

// Limits of a slot and of lists.
const (
	MaxCapacity  = 1_000_000      // places in one slot
	MaxHold      = 24 * time.Hour // of a reservation or booking
	MaxPage      = 500            // items of one page
	DefaultPage  = 100            // items where a client names no limit
	MaxTogether  = 50             // slots or resources in one request
	maxTextRunes = 128            // characters of a user id, key or name
)

// Slot is a half-open range [StartsAt, EndsAt) that up to Capacity users may
// reserve.
type Slot struct {
	ID       int64
	Resource string // key of the resource, "" if none
	StartsAt time.Time
	EndsAt   time.Time
	Capacity int
	Reserved int   // live reservations; a hold that has expired is none
	Version  int64 // counts edits of the slot from 1, never reservations
}

// Available returns the places left; it is negative only where a load went
// past the guarantee, which Check reports.
func (s Slot) Available() int { return s.Capacity - s.Reserved }

// NewSlot is a slot to create. Ref, if not empty, is the slot's name in
// another system, 1 to 128 characters; a slot is created once for a Ref.
type NewSlot struct {
	Resource string
	StartsAt time.Time
	EndsAt   time.Time
	Capacity int
	Ref      string
}

// SlotEdit names the values to change; nil leaves one as it is.
type SlotEdit struct {
	Capacity *int
	StartsAt *time.Time
	EndsAt   *time.Time
}

// SlotQuery selects slots that start within [From, To); a zero time leaves
// that side open.
type SlotQuery struct {
	From, To  time.Time
	Resource  string        // "" is any
	Available bool          // only slots with a place left
	Minimum   time.Duration // only slots at least this long
	After     SlotCursor    // continue behind this slot
	Limit     int           // 1 to MaxPage, plus 1 to see whether more follow
}

// SlotCursor is a place in the order of Slots; the zero one is the beginning.
type SlotCursor struct {
	StartsAt time.Time
	ID       int64
}

// normalize checks a new slot and returns it with its text in NFC and its
// times in UTC, cut to the microsecond, which every engine keeps.
func (s NewSlot) normalize() (NewSlot, error) {
	var bad fieldErrors
	if s.Resource != "" {
		s.Resource = bad.text("resource", s.Resource)
	}
	if s.Ref != "" {
		s.Ref = bad.text("ref", s.Ref)
	}
	bad.capacity(s.Capacity)
	s.StartsAt, s.EndsAt = bad.interval(s.StartsAt, s.EndsAt)
	return s, bad.err()
}

func (e SlotEdit) normalize() (SlotEdit, error) {
	var bad fieldErrors
	if e.Capacity != nil {
		bad.capacity(*e.Capacity)
	}
	switch {
	case e.StartsAt != nil && e.EndsAt != nil:
		from, to := bad.interval(*e.StartsAt, *e.EndsAt)
		e.StartsAt, e.EndsAt = &from, &to
	case e.StartsAt != nil:
		at := bad.instant("starts_at", *e.StartsAt)
		e.StartsAt = &at
	case e.EndsAt != nil:
		at := bad.instant("ends_at", *e.EndsAt)
		e.EndsAt = &at
	}
	return e, bad.err()
}

// Apply returns the slot as the edit would leave it, with the version counted
// up. Errors: *ValidationError if the start is not before the end.
func (e SlotEdit) Apply(s Slot) (Slot, error) {
	if e.Capacity != nil {
		s.Capacity = *e.Capacity
	}
	field := "ends_at"
	if e.StartsAt != nil {
		s.StartsAt, field = *e.StartsAt, "starts_at"
	}
	if e.EndsAt != nil {
		s.EndsAt, field = *e.EndsAt, "ends_at"
	}
	s.Version++
	if !s.StartsAt.Before(s.EndsAt) {
		return s, &ValidationError{Fields: []FieldError{{field, "the slot must start before it ends"}}}
	}
	return s, nil
}

func (bad *fieldErrors) capacity(n int) {
	if n < 1 || n > MaxCapacity {
		bad.add("capacity", fmt.Sprintf("must be an integer from 1 to %d", MaxCapacity))
	}
}
