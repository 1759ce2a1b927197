package app

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Guard names the tables of an older program on which the database itself is
// to keep a promise. It holds plain names, quoted by no one yet: a table may be
// preceded by its schema and a dot, and a part with a dot in it is written in
// brackets or double quotes, "[my.schema].Table"; a column is written as it is.
type Guard struct {
	Bookings     string   // table whose rows take places
	SlotColumn   string   // its column that names the slot; with Overlap, the resource
	UserColumn   string   // its column that names who; the trigger does not need it
	StatusColumn string   // its column that says whether a row is live; "" if each row is
	Live         []string // values of StatusColumn that are live

	Slots          string // table of the slots; with Overlap, of the resources
	SlotsKey       string // its key, which SlotColumn refers to
	CapacityColumn string // its column for places; unused with Overlap

	Overlap     bool   // judge ranges of one resource, not capacity
	StartColumn string // of Bookings: where the half-open range begins
	EndColumn   string // of Bookings: where it ends
	RowKey      string // with Overlap, optional: the key of Bookings; lets rows of before stay as they are

	// KeyType is the SQL type of SlotsKey. "" is any integer type; who connects
	// to the database fills it in.
	KeyType string
}

// Validate says all that is wrong with the names before a database is asked.
// Errors: *ValidationError, whose fields are the names above.
func (g Guard) Validate() error {
	var bad fieldErrors
	need := func(field, name string) {
		if problem := nameProblem(name); problem != "" {
			bad.add(field, problem)
		}
	}
	need("Bookings", g.Bookings)
	need("SlotColumn", g.SlotColumn)
	need("Slots", g.Slots)
	need("SlotsKey", g.SlotsKey)
	if g.Overlap {
		need("StartColumn", g.StartColumn)
		need("EndColumn", g.EndColumn)
	} else {
		need("CapacityColumn", g.CapacityColumn)
	}
	for field, name := range map[string]string{"UserColumn": g.UserColumn, "StatusColumn": g.StatusColumn, "RowKey": g.RowKey} {
		if name != "" {
			need(field, name)
		}
	}
	if (g.StatusColumn == "") != (len(g.Live) == 0) {
		bad.add("Live", "a status column and its live values come together")
	}
	for i, v := range g.Live {
		if problem := textProblem(v); problem != "" {
			bad.add(fmt.Sprintf("Live/%d", i), problem)
		}
	}
	return bad.err()
}

// maxNameRunes is the longest identifier of SQL Server; a table has up to two
// and their quoting.
const maxNameRunes = 128

func nameProblem(name string) string {
	if name == "" {
		return "must be named"
	}
	if utf8.RuneCountInString(name) > 4*maxNameRunes {
		return "is too long for a name"
	}
	return textProblem(name)
}

// textProblem refuses what could end a line or a comment of a script.
func textProblem(s string) string {
	if !utf8.ValidString(s) {
		return "must be valid UTF-8"
	}
	for _, r := range s {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return "must not have control characters or line breaks"
		}
	}
	return ""
}
