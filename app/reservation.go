package app

import "time"

// Status is the state of a live reservation or booking.
type Status string

// The live states. What has expired or was cancelled is never returned.
const (
	Held      Status = "held"
	Confirmed Status = "confirmed"
)

// Reservation is one user's place in one slot.
type Reservation struct {
	ID        int64
	SlotID    int64
	UserID    string
	Status    Status
	CreatedAt time.Time
	ExpiresAt time.Time // of a hold; zero when confirmed
}

// NewReservation asks for a place.
type NewReservation struct {
	SlotID    int64
	UserID    string        // 1 to 128 characters in NFC, see normalizeText
	Hold      time.Duration // whole seconds up to MaxHold; 0 reserves at once
	AllowPast bool          // staff: also after the slot's start
	CreatedAt time.Time     // when another system took it; zero is now
}

func (r NewReservation) normalize() (NewReservation, error) {
	var bad fieldErrors
	r.UserID = bad.text("user_id", r.UserID)
	bad.hold(r.Hold)
	if !r.CreatedAt.IsZero() {
		r.CreatedAt = bad.instant("requested_at", r.CreatedAt)
	}
	return r, bad.err()
}

func (r NewReservation) op() Op {
	return Op{Action: ActReserve, SlotID: r.SlotID, UserID: r.UserID, Hold: r.Hold, AllowPast: r.AllowPast, CreatedAt: r.CreatedAt}
}

func (bad *fieldErrors) hold(d time.Duration) {
	if d != 0 && (d < time.Second || d > MaxHold || d%time.Second != 0) {
		bad.add("hold_seconds", "must be a whole number of seconds from 1 to 86400")
	}
}
