package httpapi

// call is what the OpenAPI document says of a route. The problems that follow
// from its shape (a body, a path, a database) are added in openapi.go.
type call struct {
	id       string // operationId
	tag      string
	summary  string
	about    string
	query    []string // names of queryParameters; others are refused
	needed   []string // those of query that must be there
	body     string   // name of a schema; "" takes none
	ifMatch  bool     // heeds If-Match
	status   int      // of success; 200 if 0
	answer   string   // name of a schema, or a media type for a page; "" has no body
	headers  []string // of answerHeaders
	problems []string // codes
}

const (
	slotsTag        = "Slots"
	reservationsTag = "Reservations"
	resourcesTag    = "Resources"
	bookingsTag     = "Bookings"
	operationsTag   = "Operations"
)

// routes is every call of the API.
func routes() []route {
	var all []route
	for _, some := range [][]route{slotRoutes(), reservationRoutes(), resourceRoutes(), bookingRoutes(), operationRoutes()} {
		all = append(all, some...)
	}
	return all
}

func slotRoutes() []route {
	return []route{
		{method: "POST", path: "/slots", handle: (*Server).createSlot, call: call{
			id: "createSlot", tag: slotsTag, summary: "Publish a slot",
			about: "Slots of one resource must not overlap each other or the resource's bookings. A resource that is not known yet is created as a place.",
			body:  "NewSlot", status: 201, answer: "Slot", headers: []string{"Location", "ETag"},
			problems: []string{"slot-overlap"},
		}},
		{method: "GET", path: "/slots", list: (*Server).listSlots, call: call{
			id: "listSlots", tag: slotsTag, summary: "List slots",
			about: "The slots that start within [from, to), ordered by start, then id.",
			query: []string{"from", "to", "resource", "available", "minutes", "limit", "cursor"}, answer: "SlotPage", headers: []string{"Link"},
		}},
		{method: "GET", path: "/slots/:id", handle: (*Server).slot, call: call{
			id: "getSlot", tag: slotsTag, summary: "Read a slot",
			answer: "Slot", headers: []string{"ETag"}, problems: []string{"slot-not-found"},
		}},
		{method: "PATCH", path: "/slots/:id", handle: (*Server).editSlot, call: call{
			id: "editSlot", tag: slotsTag, summary: "Change a slot",
			about: "Changes what the body names, if the slot still has a version that If-Match names. Reservations do not change the version.",
			body:  "SlotEdit", ifMatch: true, answer: "Slot", headers: []string{"ETag"},
			problems: []string{"slot-not-found", "slot-overlap", "capacity-below-reserved", "version-mismatch", "version-required"},
		}},
		{method: "DELETE", path: "/slots/:id", handle: (*Server).deleteSlot, call: call{
			id: "deleteSlot", tag: slotsTag, summary: "Delete a slot", ifMatch: true, status: 204,
			problems: []string{"slot-not-found", "slot-has-reservations", "version-mismatch"},
		}},
	}
}

func reservationRoutes() []route {
	const path = "/slots/:id/reservations"
	return []route{
		{method: "POST", path: path, handle: (*Server).reserve, call: call{
			id: "reserve", tag: reservationsTag, summary: "Reserve a place",
			about: "With hold_seconds the place is held for that long and then given back, unless it is confirmed before. Staff may reserve after the slot's start with allow_past.",
			body:  "NewReservation", status: 201, answer: "Reservation", headers: []string{"Location"},
			problems: []string{"slot-not-found", "already-reserved", "slot-started", "slot-full", "not-supported"},
		}},
		{method: "GET", path: path, list: (*Server).listReservations, call: call{
			id: "listReservations", tag: reservationsTag, summary: "List a slot's live reservations", about: "Oldest first.",
			query: []string{"limit", "cursor"}, answer: "ReservationPage", headers: []string{"Link"},
			problems: []string{"slot-not-found"},
		}},
		{method: "GET", path: path + "/:user", handle: (*Server).reservation, call: call{
			id: "getReservation", tag: reservationsTag, summary: "Read a reservation",
			answer: "Reservation", problems: []string{"slot-not-found", "reservation-not-found"},
		}},
		{method: "POST", path: path + "/:user/confirm", handle: (*Server).confirm, call: call{
			id: "confirm", tag: reservationsTag, summary: "Confirm a hold", about: "What is confirmed already stays so.",
			answer: "Reservation", problems: []string{"slot-not-found", "reservation-not-found", "hold-expired"},
		}},
		{method: "DELETE", path: path + "/:user", handle: (*Server).cancel, call: call{
			id: "cancel", tag: reservationsTag, summary: "Cancel a reservation", about: "The place is free at once.",
			status: 204, problems: []string{"slot-not-found", "reservation-not-found"},
		}},
		{method: "POST", path: "/reservations", handle: (*Server).reserveAll, manyAt: "slot_ids", call: call{
			id: "reserveAll", tag: reservationsTag, summary: "Reserve a place in each of several slots, or in none",
			about: "A refusal has the code of its first failure and lists each slot that failed in errors.",
			body:  "NewReservations", status: 201, answer: "Reservations",
			problems: []string{"slot-not-found", "already-reserved", "slot-started", "slot-full", "not-supported"},
		}},
	}
}

func resourceRoutes() []route {
	return []route{
		{method: "POST", path: "/resources", handle: (*Server).createResource, call: call{
			id: "createResource", tag: resourcesTag, summary: "Create a resource",
			body: "NewResource", status: 201, answer: "Resource", headers: []string{"Location"},
			problems: []string{"resource-exists"},
		}},
		{method: "GET", path: "/resources", list: (*Server).listResources, call: call{
			id: "listResources", tag: resourcesTag, summary: "List resources", about: "By key, compared byte by byte.",
			query: []string{"limit", "cursor"}, answer: "ResourcePage", headers: []string{"Link"},
		}},
		{method: "GET", path: "/resources/:key", handle: (*Server).resource, call: call{
			id: "getResource", tag: resourcesTag, summary: "Read a resource",
			answer: "Resource", problems: []string{"resource-not-found"},
		}},
		{method: "GET", path: "/resources/:key/free", list: (*Server).freeRanges, call: call{
			id: "freeRanges", tag: resourcesTag, summary: "Find the free ranges of a resource",
			about: "What no live booking and no slot of the resource takes within [from, to), at most 366 days, in ranges of at least the minutes named.",
			query: []string{"from", "to", "minutes"}, needed: []string{"from", "to"}, answer: "Ranges",
			problems: []string{"resource-not-found"},
		}},
	}
}

func bookingRoutes() []route {
	return []route{
		{method: "POST", path: "/resources/:key/bookings", handle: (*Server).book, call: call{
			id: "book", tag: bookingsTag, summary: "Book a resource for a range",
			body: "NewBooking", status: 201, answer: "Booking",
			problems: []string{"resource-not-found", "resource-busy", "not-supported"},
		}},
		{method: "GET", path: "/resources/:key/bookings", list: (*Server).listBookings, call: call{
			id: "listBookings", tag: bookingsTag, summary: "List a resource's live bookings",
			about: "Those that overlap [from, to), ordered by start, then id.",
			query: []string{"from", "to", "limit", "cursor"}, answer: "BookingPage", headers: []string{"Link"},
			problems: []string{"resource-not-found"},
		}},
		{method: "POST", path: "/bookings", handle: (*Server).bookAll, manyAt: "resources", call: call{
			id: "bookAll", tag: bookingsTag, summary: "Book several resources for one range, or none of them",
			about: "A refusal has the code of its first failure and lists each resource that failed in errors.",
			body:  "NewBookings", status: 201, answer: "Bookings",
			problems: []string{"resource-not-found", "resource-busy", "not-supported"},
		}},
		{method: "POST", path: "/bookings/:id/confirm", handle: (*Server).confirmBooking, call: call{
			id: "confirmBooking", tag: bookingsTag, summary: "Confirm a held booking", about: "What is confirmed already stays so.",
			answer: "Booking", problems: []string{"booking-not-found", "hold-expired"},
		}},
		{method: "DELETE", path: "/bookings/:id", handle: (*Server).cancelBooking, call: call{
			id: "cancelBooking", tag: bookingsTag, summary: "Cancel a booking", about: "The range is free at once.",
			status: 204, problems: []string{"booking-not-found"},
		}},
	}
}

func operationRoutes() []route {
	const page, metrics = "text/html", "text/plain"
	return []route{
		{method: "GET", path: "/livez", public: true, handle: (*Server).livez, call: call{
			id: "livez", tag: operationsTag, summary: "The process runs", about: "Touches no database.", answer: "Health",
		}},
		{method: "GET", path: "/readyz", public: true, handle: (*Server).readyz, call: call{
			id: "readyz", tag: operationsTag, summary: "Requests can be served",
			about:  "The database answers within a second, its schema is current, and the process is not about to end.",
			answer: "Health", problems: []string{"database-unavailable", "shutting-down"},
		}},
		{method: "GET", path: "/metrics", public: true, handle: (*Server).metricsPage, call: call{
			id: "metrics", tag: operationsTag, summary: "Metrics for Prometheus", answer: metrics,
		}},
		{method: "GET", path: "/openapi.json", public: true, handle: (*Server).openapiDocument, call: call{
			id: "openapi", tag: operationsTag, summary: "This document", answer: "Document",
		}},
		{method: "GET", path: "/docs", public: true, handle: (*Server).docsPage, call: call{
			id: "docs", tag: operationsTag, summary: "This document as a page", answer: page,
		}},
		{method: "GET", path: "/problems/:code", public: true, handle: (*Server).problemPage, call: call{
			id: "problem", tag: operationsTag, summary: "A problem explained", about: "The type of every problem is the URL of such a page.",
			answer: page, problems: []string{"not-found"},
		}},
		{method: "GET", path: "/", public: true, handle: (*Server).root, call: call{
			id: "root", tag: operationsTag, summary: "Leads to /docs", status: 302, headers: []string{"Location"},
		}},
	}
}
