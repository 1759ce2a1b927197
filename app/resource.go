package app

import (
	"fmt"
	"time"
)

// Kind says what a resource is. A booking names a place or a thing, never both.
type Kind string

// The kinds of resource.
const (
	KindPlace Kind = "place"
	KindThing Kind = "thing"
)

// Resource is a practitioner, a room, a device, a pitch: something that one
// party has at a time.
type Resource struct {
	ID   int64
	Key  string // 1 to 128 characters in NFC, unique byte by byte
	Name string // for people; the key if none was given
	Kind Kind
}

func (r Resource) normalize() (Resource, error) {
	var bad fieldErrors
	r.Key = bad.text("key", r.Key)
	if r.Name == "" {
		r.Name = r.Key
	} else {
		r.Name = bad.text("name", r.Name)
	}
	if r.Kind != KindPlace && r.Kind != KindThing {
		bad.add("kind", `must be "place" or "thing"`)
	}
	return r, bad.err()
}

// Range is half-open: [From, To).
type Range struct {
	From, To time.Time
}

// Booking is one party's use of one resource for a range.
type Booking struct {
	ID        int64
	Resource  string // the key
	Kind      Kind   // of the resource
	UserID    string
	StartsAt  time.Time
	EndsAt    time.Time
	Status    Status
	CreatedAt time.Time
	ExpiresAt time.Time // of a hold; zero when confirmed
}

// NewBooking asks for a resource for [StartsAt, EndsAt).
type NewBooking struct {
	Resource string
	Kind     Kind // what the client says it is; "" if it does not say
	UserID   string
	StartsAt time.Time
	EndsAt   time.Time
	Hold     time.Duration // as in NewReservation
}

func (b NewBooking) normalize() (NewBooking, error) {
	var bad fieldErrors
	b.Resource = bad.text("resource", b.Resource)
	b.UserID = bad.text("user_id", b.UserID)
	b.StartsAt, b.EndsAt = bad.interval(b.StartsAt, b.EndsAt)
	bad.hold(b.Hold)
	return b, bad.err()
}

// BookingQuery selects bookings that overlap [From, To); a zero time leaves
// that side open.
type BookingQuery struct {
	Resource string
	From, To time.Time
	After    SlotCursor // continue behind this booking: its start and id
	Limit    int
}

// FreeQuery asks for the free ranges of a resource.
type FreeQuery struct {
	Resource string
	From, To time.Time
	Minimum  time.Duration // whole minutes, at least one
}

func (q FreeQuery) normalize() (FreeQuery, error) {
	var bad fieldErrors
	q.From, q.To = bad.instant("from", q.From), bad.instant("to", q.To)
	if !q.From.Before(q.To) {
		bad.add("to", "must be later than from")
	}
	if q.Minimum < time.Minute || q.Minimum%time.Minute != 0 {
		bad.add("minutes", "must be a whole number of minutes, at least 1")
	}
	if q.To.Sub(q.From) > maxFreeSpan {
		bad.add("to", fmt.Sprintf("must be at most %d days after from", maxFreeSpan/(24*time.Hour)))
	}
	return q, bad.err()
}

const maxFreeSpan = 366 * 24 * time.Hour // one answer's size stays bounded
