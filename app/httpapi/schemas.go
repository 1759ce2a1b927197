package httpapi

import "slotkeeper/app"

// The schemas say what is taken and what is answered. Objects are closed: an
// unknown field is refused, and none is answered that is not here.

func object(about string, required []string, properties obj) obj {
	return obj{"type": "object", "description": about, "required": required, "properties": properties, "additionalProperties": false}
}

func text(about string, example string) obj {
	return obj{"type": "string", "minLength": 1, "maxLength": 128, "description": about, "examples": []string{example}}
}

func integer(about string, from, to int64) obj {
	o := obj{"type": "integer", "minimum": from, "description": about}
	if to > 0 {
		o["maximum"] = to
	} else {
		o["format"] = "int64"
	}
	return o
}

func instant(about string, example string) obj {
	return obj{"type": "string", "format": "date-time", "description": about, "examples": []string{example}}
}

func list(of string, about string) obj {
	return object(about, []string{"items"}, obj{"items": obj{"type": "array", "items": schemaRef(of)}})
}

func page(of string) obj {
	o := list(of, "One page of a list.")
	o["required"] = []string{"items", "next_cursor"}
	o["properties"].(obj)["next_cursor"] = obj{"type": []string{"string", "null"}, "description": "What to send as cursor for the next page; null on the last one."}
	return o
}

const (
	aboutText = " 1 to 128 characters, normalised to Unicode NFC, no control characters, no white space at either end; compared byte by byte."
	nine      = "2026-12-01T09:00:00Z"
	twenty    = "2026-12-01T09:20:00Z"
)

// Properties that several schemas share.
func userID() obj      { return text("Who."+aboutText, "alice") }
func resourceKey() obj { return text("The key of a resource."+aboutText, "dr-lind") }
func startsAt() obj    { return instant("The first moment of the range.", nine) }
func endsAt() obj      { return instant("The first moment behind the range.", twenty) }
func kind() obj        { return obj{"type": "string", "enum": []string{"place", "thing"}} }
func allowPast() obj {
	return obj{"type": "boolean", "default": false, "description": "Staff: reserve after the slot's start."}
}
func holdSeconds() obj {
	return integer("Hold for so many seconds instead of reserving at once.", 1, int64(app.MaxHold.Seconds()))
}
func capacity() obj { return integer("How many users may reserve.", 1, app.MaxCapacity) }
func status() obj {
	return obj{"type": "string", "enum": []string{"held", "confirmed"}}
}
func expiresAt() obj { return instant("When a hold ends; absent once it is confirmed.", twenty) }
func createdAt() obj { return instant("When it was made, by the database's clock.", nine) }

func schemas() obj {
	all := obj{
		"Problem":  problemSchema(),
		"Health":   object("The process is well.", []string{"status"}, obj{"status": obj{"type": "string", "enum": []string{"alive", "ready"}}}),
		"Document": obj{"type": "object", "description": "An OpenAPI 3.1 document."},
	}
	for _, some := range []obj{slotSchemas(), reservationSchemas(), resourceSchemas()} {
		for name, schema := range some {
			all[name] = schema
		}
	}
	return all
}

func slotSchemas() obj {
	edit := object("What to change; one field at least.", []string{}, obj{"capacity": capacity(), "starts_at": startsAt(), "ends_at": endsAt()})
	edit["minProperties"] = 1
	newCapacity := capacity()
	newCapacity["default"] = 1
	return obj{
		"NewSlot": object("A slot to publish.", []string{"starts_at", "ends_at"}, obj{
			"starts_at": startsAt(), "ends_at": endsAt(), "capacity": newCapacity, "resource": resourceKey(),
		}),
		"SlotEdit": edit,
		"Slot": object("A slot.", []string{"id", "starts_at", "ends_at", "capacity", "reserved", "available", "version"}, obj{
			"id": integer("", 1, 0), "resource": resourceKey(), "starts_at": startsAt(), "ends_at": endsAt(), "capacity": capacity(),
			"reserved":  integer("Live reservations; a hold that has expired is none.", 0, 0),
			"available": obj{"type": "integer", "description": "capacity - reserved."},
			"version":   integer("Counts edits of the slot, not reservations; the ETag, quoted.", 1, 0),
		}),
		"SlotPage": page("Slot"),
	}
}

func reservationSchemas() obj {
	return obj{
		"NewReservation": object("Who wants a place.", []string{"user_id"}, obj{
			"user_id": userID(), "hold_seconds": holdSeconds(), "allow_past": allowPast(),
		}),
		"NewReservations": object("Who wants a place in each of several slots.", []string{"user_id", "slot_ids"}, obj{
			"user_id": userID(), "hold_seconds": holdSeconds(), "allow_past": allowPast(),
			"slot_ids": obj{"type": "array", "minItems": 1, "maxItems": app.MaxTogether, "uniqueItems": true,
				"items": integer("The id of a slot.", 1, 0), "examples": [][]int{{1, 2}}},
		}),
		"Reservation": object("One user's place in one slot.", []string{"id", "slot_id", "user_id", "status", "created_at"}, obj{
			"id": integer("", 1, 0), "slot_id": integer("", 1, 0), "user_id": userID(),
			"status": status(), "created_at": createdAt(), "expires_at": expiresAt(),
		}),
		"Reservations":    list("Reservation", "In the order of slot_ids."),
		"ReservationPage": page("Reservation"),
	}
}

func resourceSchemas() obj {
	booking := []string{"user_id", "starts_at", "ends_at"}
	named := func(kind string) obj { return object("", []string{kind}, obj{kind: resourceKey()}) }
	return obj{
		"NewResource": object("A resource to create.", []string{"key", "kind"}, obj{
			"key": resourceKey(), "name": text("For people; the key if absent.", "Dr Lind"), "kind": kind(),
		}),
		"Resource": object("A resource.", []string{"id", "key", "name", "kind"}, obj{
			"id": integer("", 1, 0), "key": resourceKey(), "name": text("For people.", "Dr Lind"), "kind": kind(),
		}),
		"ResourcePage": page("Resource"),
		"Range":        object("A free range.", []string{"starts_at", "ends_at"}, obj{"starts_at": startsAt(), "ends_at": endsAt()}),
		"Ranges":       list("Range", "Ascending."),
		"NewBooking": object("Who wants the resource, and when.", booking, obj{
			"user_id": userID(), "starts_at": startsAt(), "ends_at": endsAt(), "hold_seconds": holdSeconds(),
		}),
		"NewBookings": object("Who wants several resources, and when.", append([]string{"resources"}, booking...), obj{
			"user_id": userID(), "starts_at": startsAt(), "ends_at": endsAt(), "hold_seconds": holdSeconds(),
			"resources": obj{"type": "array", "minItems": 1, "maxItems": app.MaxTogether, "description": "Each names a place or a thing.",
				"items": obj{"oneOf": []obj{named("place"), named("thing")}}, "examples": []any{[]obj{{"place": "room-1"}, {"thing": "mri-2"}}}},
		}),
		"Booking": object("One party's use of one resource for a range.", append([]string{"id", "resource", "kind", "status", "created_at"}, booking...), obj{
			"id": integer("", 1, 0), "resource": resourceKey(), "kind": kind(), "user_id": userID(), "starts_at": startsAt(), "ends_at": endsAt(),
			"status": status(), "created_at": createdAt(), "expires_at": expiresAt(),
		}),
		"Bookings":    list("Booking", "In the order of resources."),
		"BookingPage": page("Booking"),
	}
}

func problemSchema() obj {
	all := make([]string, len(problems))
	for i := range problems {
		all[i] = problems[i].code
	}
	item := object("What is wrong with one value.", []string{"detail"}, obj{
		"detail":    obj{"type": "string"},
		"pointer":   obj{"type": "string", "description": "The field of the body, a JSON pointer as a URI fragment.", "examples": []string{"#/capacity"}},
		"parameter": obj{"type": "string", "description": "The parameter of the query."},
		"code":      obj{"type": "string", "enum": all, "description": "The item's own problem, in a request for several."},
	})
	return object("Why a request was refused (RFC 9457).", []string{"type", "title", "status", "detail", "instance", "code"}, obj{
		"type":     obj{"type": "string", "format": "uri", "description": "The URL of a page that explains the problem."},
		"title":    obj{"type": "string"},
		"status":   integer("", 400, 599),
		"detail":   obj{"type": "string", "description": "A sentence about this occurrence."},
		"instance": obj{"type": "string", "description": "The request's path."},
		"code":     obj{"type": "string", "enum": all, "description": "What to switch on."},
		"reserved": integer("Live reservations, with capacity-below-reserved.", 0, 0),
		"errors":   obj{"type": "array", "minItems": 1, "items": item},
	})
}

// queryParameters are by name; those that a call needs are there twice.
func queryParameters() obj {
	parameter := func(name string, schema obj) obj {
		about := schema["description"]
		delete(schema, "description")
		return obj{"name": name, "in": "query", "required": false, "description": about, "schema": schema}
	}
	needed := func(p obj) obj { p["required"] = true; return p }
	from := func() obj { return parameter("from", instant("The first moment of the period.", nine)) }
	to := func() obj {
		return parameter("to", instant("The first moment behind the period.", "2026-12-02T09:00:00Z"))
	}
	return obj{
		"from": from(), "from-needed": needed(from()),
		"to": to(), "to-needed": needed(to()),
		"resource":  parameter("resource", text("Only slots of the resource with this key.", "dr-lind")),
		"available": parameter("available", obj{"type": "boolean", "default": false, "description": "true: only slots with a place left."}),
		"minutes":   parameter("minutes", integer("Only ranges of at least so many minutes.", 1, 366*24*60)),
		"limit":     parameter("limit", obj{"type": "integer", "minimum": 1, "maximum": app.MaxPage, "default": app.DefaultPage, "description": "Items of one page."}),
		"cursor":    parameter("cursor", obj{"type": "string", "description": "next_cursor of the page before."}),
	}
}

func answerHeaders() obj {
	header := func(about string) obj { return obj{"description": about, "schema": obj{"type": "string"}} }
	return obj{
		"Location":     header("The path of what was created."),
		"ETag":         header("The slot's version, quoted, for If-Match."),
		"Link":         header(`The next page, with rel="next"; absent on the last one.`),
		"Retry-After":  header("Seconds to wait before the request is sent again."),
		"X-Request-Id": header("The request's id in the service's log."),
	}
}
