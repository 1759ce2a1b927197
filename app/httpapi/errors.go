package httpapi

import (
	"errors"
	"fmt"

	"slotkeeper/app"

	"github.com/gofiber/fiber/v2"
)

// problem is one row of the table that turns an error into an answer, and the
// page /problems/{code} that explains it.
type problem struct {
	code       string
	status     int
	err        error  // of package app; nil where a request is refused before it gets there
	title      string // short, the same each time (RFC 9457, 3.1.2)
	detail     string // a sentence for this occurrence, where nothing better is known
	pointer    string // the field to blame, if it is always the same one
	retryAfter string // seconds
	about      string // when it happens and what to do, for the page
}

// problems is the only place where a status stands. Refusals come first, since
// a crowd before a full slot meets them most. What it does not know is internal.
var problems = []problem{
	{code: "already-reserved", status: 409, err: app.ErrAlreadyReserved, title: "Already reserved",
		detail: "This user holds a live reservation of this slot already.",
		about:  "A user has one place in a slot. This is checked before capacity, so a repeated click is told so even when the slot is full. If the first request is yours, there is nothing to do: read the reservation with GET."},
	{code: "slot-full", status: 409, err: app.ErrSlotFull, title: "Slot is full",
		detail: "No place is left in this slot.",
		about:  "Live reservations take all of the slot's capacity; holds count until they expire. A place comes back when someone cancels or a hold runs out. List other slots with GET /slots?available=true."},
	{code: "slot-started", status: 409, err: app.ErrSlotStarted, title: "Slot has started",
		detail: `The slot's start has passed; staff may send "allow_past": true.`,
		about:  `By the database's clock the slot has begun, so it takes no more reservations. Staff who enter one afterwards send "allow_past": true.`},
	{code: "slot-overlap", status: 409, err: app.ErrSlotOverlap, title: "Slot overlaps",
		detail: "Another slot or booking of the same resource overlaps this range.",
		about:  "A resource is in one place at a time. Ranges are half-open: one that ends at 09:30 and one that starts at 09:30 do not overlap. Choose another range or another resource."},
	{code: "resource-busy", status: 409, err: app.ErrResourceBusy, title: "Resource is busy", pointer: "#/starts_at",
		detail: "A live booking or a slot of the resource overlaps this range.",
		about:  "Someone has the resource during a part of the range. GET /resources/{key}/free answers with the ranges that are left."},
	{code: "hold-expired", status: 409, err: app.ErrHoldExpired, title: "Hold has expired",
		detail: "The hold is over and its place was given back.",
		about:  "A hold keeps a place until its expires_at. It was confirmed too late; reserve again while places are left."},
	{code: "capacity-below-reserved", status: 409, title: "Capacity is below what is reserved",
		about: "A slot's capacity cannot be lowered under its live reservations, whose number the member reserved tells. Cancel some first, or choose a higher capacity."},
	{code: "slot-has-reservations", status: 409, err: app.ErrSlotHasReservations, title: "Slot has reservations",
		detail: "The slot has live reservations; cancel them first.",
		about:  "A slot that someone has reserved is not deleted. Cancel its reservations, then delete it."},
	{code: "resource-exists", status: 409, err: app.ErrResourceExists, title: "Resource exists",
		detail: "Another resource has this key.", pointer: "#/key",
		about: "Keys are unique, compared byte by byte after Unicode normalisation. Read the resource with GET, or choose another key."},

	{code: "slot-not-found", status: 404, err: app.ErrSlotNotFound, title: "Slot not found",
		detail: "There is no slot with this id.",
		about:  "No slot has this id, or it was deleted. An id is a positive 64-bit integer; anything else names no slot either."},
	{code: "reservation-not-found", status: 404, err: app.ErrReservationNotFound, title: "Reservation not found",
		detail: "This user has no live reservation of this slot.",
		about:  "The user never reserved this slot, has cancelled, or let the hold expire. Cancelling twice answers so the second time."},
	{code: "resource-not-found", status: 404, err: app.ErrResourceNotFound, title: "Resource not found",
		detail: "There is no resource with this key.",
		about:  "No resource has this key. Keys are case-sensitive; in a path they are percent-encoded once."},
	{code: "booking-not-found", status: 404, err: app.ErrBookingNotFound, title: "Booking not found",
		detail: "There is no live booking with this id.",
		about:  "No live booking has this id: it never existed, was cancelled, or was a hold that expired."},
	{code: "not-found", status: 404, title: "Not found",
		detail: "Nothing is served at this path.",
		about:  "The path is none of this service's. The page /docs lists all of them; a slash at the end makes another path."},

	{code: "version-mismatch", status: 412, err: app.ErrVersionMismatch, title: "Version mismatch",
		detail: `If-Match names no current version of the slot; it takes quoted tags such as "4", as ETag has them.`,
		about:  "The slot was edited since you read it, so your edit was not made. Read it again, look at what changed, and send the edit with the new ETag. Weak tags (W/) never match."},
	{code: "version-required", status: 428, title: "Version required",
		detail: "Send If-Match with the slot's ETag, or * for any version.",
		about:  "Two clerks who edit one slot must not undo each other's work unseen, so PATCH wants If-Match with the ETag of the version that you read."},

	{code: "malformed-request", status: 400, title: "Malformed request",
		detail: "The request is not well-formed HTTP.",
		about:  "The request could not be read: its body is not one JSON object in UTF-8, has a field that is unknown or occurs twice, or has something behind the object; or its path has a broken percent-escape; or it is no HTTP, or HTTP that a proxy may read in another way, such as a request with two lengths."},
	{code: "validation-failed", status: 422, title: "Validation failed",
		detail: "Some values are not allowed; errors lists each of them.",
		about:  "The request was understood, but some values are wrong. The member errors names each of them: pointer for a field of the body, parameter for one of the query. null is never a value: leave a field out instead."},
	{code: "not-supported", status: 422, err: app.ErrUnsupported, title: "Not supported",
		detail: "The tables that this service runs on cannot keep this.",
		about:  "The service runs on tables of another program that have no place for what was asked, such as the expiry of a hold. Ask without it."},
	{code: "unsupported-media-type", status: 415, title: "Unsupported media type",
		detail: "The body must be application/json in UTF-8, not compressed.",
		about:  "Send Content-Type: application/json. A charset may be named if it is utf-8; Content-Encoding is not taken."},
	{code: "body-too-large", status: 413, title: "Body too large",
		detail: "The body is larger than this service takes.",
		about:  "Bodies are bounded, to 64 KiB unless configured otherwise. No request of this API needs more."},
	{code: "headers-too-large", status: 431, title: "Headers too large",
		detail: "The request line and headers are larger than 8 KiB.",
		about:  "The request line and the headers have 8 KiB together. Long cookies are the usual cause; this service needs none."},
	{code: "request-timeout", status: 408, title: "Request timeout",
		detail: "The request did not arrive in time.",
		about:  "The connection was open, but the whole request did not arrive in time. Send it again."},
	{code: "method-not-allowed", status: 405, title: "Method not allowed",
		detail: "This path does not have this method; Allow lists those it has.",
		about:  "The path exists and has other methods, which the header Allow lists."},

	{code: "database-unavailable", status: 503, err: app.ErrUnavailable, retryAfter: "5", title: "Database unavailable",
		detail: "The database cannot be reached at the moment.",
		about:  "The service cannot reach its database. A request that was being written when the connection broke may have been stored: repeat a reservation (a second one of the same user is never made) or read before you repeat anything else."},
	{code: "busy", status: 503, err: app.ErrBusy, retryAfter: "1", title: "Busy",
		detail: "The request found no turn in time; nothing was written.",
		about:  "Too many requests wait for the same slot, or other transactions stood in the way for too long. Nothing was written: send the request again after the seconds in Retry-After."},
	{code: "shutting-down", status: 503, retryAfter: "5", title: "Shutting down",
		detail: "This process is about to end; another one takes over.",
		about:  "GET /readyz answers so from the moment the process is asked to end, so that a load balancer sends new requests elsewhere. Requests are still answered meanwhile."},
	{code: "internal", status: 500, title: "Internal error",
		detail: "Something went wrong here; the log has it under the request's id.",
		about:  "A bug. Please report it with the X-Request-Id of the answer, under which the log has the cause."},
}

// find returns the row of a code, which must be one of the table.
func find(code string) *problem {
	for i := range problems {
		if problems[i].code == code {
			return &problems[i]
		}
	}
	panic("httpapi: no problem " + code)
}

// entry is one item of a problem's errors.
type entry struct {
	pointer   string // RFC 6901 as a URI fragment
	parameter string // of the query
	detail    string
	code      string // of the item's own problem, in a request for several
}

// answerError refuses a request by this package itself.
type answerError struct {
	code    string
	detail  string // "" is the table's
	entries []entry
}

func (e *answerError) Error() string { return e.code + ": " + e.detail }

func refuse(code, detail string) error { return &answerError{code: code, detail: detail} }

// internal answers for an error that the table does not know.
var internal = find("internal")

// failure is what is answered: a row and what this occurrence adds to it.
type failure struct {
	*problem
	detail   string
	entries  []entry
	reserved int // member of capacity-below-reserved; -1 is none
}

// explain finds the answer for an error. manyAt is the field whose items an
// *app.ManyError counts: "slot_ids" or "resources".
func explain(err error, manyAt string) failure {
	for i := range problems { // unwrapped, the common case
		if err == problems[i].err { //nolint:errorlint // wrapped ones are looked for below
			return problems[i].failure()
		}
	}
	var (
		own     *answerError
		many    *app.ManyError
		invalid *app.ValidationError
		below   *app.CapacityBelowReservedError
		router  *fiber.Error
	)
	switch {
	case errors.As(err, &own):
		f := find(own.code).failure()
		if f.entries = own.entries; own.detail != "" {
			f.detail = own.detail
		}
		return f
	case errors.As(err, &many):
		return explainMany(many, manyAt)
	case errors.As(err, &invalid):
		f := find("validation-failed").failure()
		for _, bad := range invalid.Fields {
			f.entries = append(f.entries, entry{pointer: pointerTo(bad.Field), detail: bad.Detail})
		}
		return f
	case errors.As(err, &below):
		f := find("capacity-below-reserved").failure()
		f.detail = fmt.Sprintf("%d places are reserved; capacity cannot be less.", below.Reserved)
		f.reserved = below.Reserved
		return f
	case errors.As(err, &router):
		return rowOfStatus(router.Code).failure()
	}
	if p := rowOf(err); p != nil {
		return p.failure()
	}
	return internal.failure()
}

func (p *problem) failure() failure {
	f := failure{problem: p, detail: p.detail, reserved: -1}
	if p.pointer != "" {
		f.entries = []entry{{pointer: p.pointer, detail: p.detail}}
	}
	return f
}

// explainMany answers for the first failure and lists all of them.
func explainMany(many *app.ManyError, manyAt string) failure {
	var f failure
	for i, one := range many.Failures {
		each := explain(one.Err, "")
		if i == 0 {
			f = each
			f.entries = nil
		}
		detail := each.detail
		if each.code == "validation-failed" && len(each.entries) > 0 {
			detail = each.entries[0].detail
		}
		at := fmt.Sprintf("#/%s/%d", manyAt, one.Index)
		f.entries = append(f.entries, entry{pointer: at, detail: detail, code: each.code})
	}
	return f
}

func rowOf(err error) *problem {
	for i := range problems {
		if p := &problems[i]; p.err != nil && errors.Is(err, p.err) {
			return p
		}
	}
	return nil
}

// rowOfStatus serves the errors of fiber and fasthttp themselves, which come
// as a status: of requests that could not be read.
func rowOfStatus(status int) *problem {
	switch status {
	case 404:
		return find("not-found")
	case 405:
		return find("method-not-allowed")
	case 408:
		return find("request-timeout")
	case 413:
		return find("body-too-large")
	case 431:
		return find("headers-too-large")
	case 500:
		return internal
	}
	return find("malformed-request")
}

// pointerTo turns a field as app names it into a JSON pointer.
func pointerTo(field string) string {
	if field == "" {
		return "#"
	}
	return "#/" + field
}
