package sqlserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"slotkeeper/app"
)

// Tables are an older program's tables to serve, under the guard. Slots and
// reservations are read and reservations are written; what such tables cannot
// say (holds, resources, new slots) is app.ErrUnsupported. The key of the slots
// must be an integer.
type Tables struct {
	Guard         app.Guard // the tables, with UserColumn; without Overlap
	SlotStart     string    // column of Slots
	SlotEnd       string    // column of Slots
	BookingKey    string    // integer key of Bookings, which the database gives (IDENTITY)
	CreatedColumn string    // column of Bookings for when; "" if there is none
	Cancelled     string    // value of StatusColumn that cancels; "" deletes the row
	Zone          string    // of times without an offset, as SQL Server names zones; "" is UTC
}

// tableTexts are the statements of served/ with these tables' names.
func tableTexts(ctx context.Context, db *sql.DB, t Tables) (map[string]string, error) {
	if err := t.validate(); err != nil {
		return nil, err
	}
	report, err := inspect(ctx, db, t.Guard)
	if err != nil {
		return nil, err
	}
	if len(report.Problems) > 0 {
		return nil, &GuardError{report.Problems}
	}
	if !report.Installed || len(report.Differences) > 0 {
		return nil, fmt.Errorf("the guard is not on as it should be, and without it no promise holds: %s", strings.Join(report.Differences, "; "))
	}
	if report.Spec.KeyType != "" {
		return nil, fmt.Errorf("the key of %s is %s; only integer keys can be served", t.Guard.Slots, report.Spec.KeyType)
	}
	names, err := t.names(ctx, db)
	if err != nil {
		return nil, err
	}
	return renderServed(names)
}

// renderServed writes the names into the statements of served/.
func renderServed(names servedNames) (map[string]string, error) {
	texts := map[string]string{}
	for name, text := range loadStatements("served") {
		tmpl, err := template.New(name).Parse(text)
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		if err := tmpl.Execute(&b, names); err != nil {
			return nil, err
		}
		texts[name] = b.String()
	}
	return texts, nil
}

func (t Tables) validate() error {
	if t.Guard.Overlap || t.Guard.UserColumn == "" || t.SlotStart == "" || t.SlotEnd == "" || t.BookingKey == "" {
		return errors.New("to serve tables name the user's column, the slots' start and end, and the bookings' key")
	}
	if t.Cancelled != "" && t.Guard.StatusColumn == "" {
		return errors.New("a value that cancels needs a status column")
	}
	return t.Guard.Validate()
}

// servedNames are what the templates in served/ take: quoted names and, for
// times, expressions.
type servedNames struct {
	guardNames
	User, BookingKey, Created string
	Start, End                string // as DATETIMEOFFSET, of the alias s
	RawStart, From, To        string // the column as it is, and the parameters to compare it with
	CreatedAt                 string // as DATETIMEOFFSET, of the alias r
	FirstLive, Cancelled      string
}

func (t Tables) names(ctx context.Context, db *sql.DB) (servedNames, error) {
	g := inspection{ctx: ctx, db: db, report: &GuardReport{}}
	bookings, slots := g.table(t.Guard.Bookings), g.table(t.Guard.Slots)
	if g.err != nil || bookings == nil || slots == nil {
		return servedNames{}, errors.Join(g.err, errors.New("the tables have gone"))
	}
	start, ok1 := g.column(slots, t.SlotStart)
	end, ok2 := g.column(slots, t.SlotEnd)
	_, ok3 := g.column(bookings, t.BookingKey)
	created, ok4 := column{}, true
	if t.CreatedColumn != "" {
		created, ok4 = g.column(bookings, t.CreatedColumn)
	}
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return servedNames{}, &GuardError{g.report.Problems}
	}
	zone := t.Zone
	if zone == "" {
		zone = "UTC"
	}
	at := func(alias, name string, c column) string {
		if c.base == "DATETIMEOFFSET" {
			return alias + "." + quoteName(name)
		}
		return "(CAST(" + alias + "." + quoteName(name) + " AS DATETIME2(6)) AT TIME ZONE " + quoteText(zone) + ")"
	}
	wall := func(param string, c column) string {
		if c.base == "DATETIMEOFFSET" {
			return param
		}
		return "CAST(CAST(" + param + " AS DATETIMEOFFSET(6)) AT TIME ZONE " + quoteText(zone) + " AS DATETIME2(6))"
	}
	n := servedNames{guardNames: guardNames{Bookings: bookings.quoted, Slots: slots.quoted}.of(t.Guard),
		User: quoteName(t.Guard.UserColumn), BookingKey: quoteName(t.BookingKey), RawStart: quoteName(t.SlotStart),
		Start: at("s", t.SlotStart, start), End: at("s", t.SlotEnd, end),
		From: wall("@from", start), To: wall("@to", start), CreatedAt: "CAST(NULL AS DATETIMEOFFSET(6))"}
	if t.CreatedColumn != "" {
		n.Created, n.CreatedAt = quoteName(t.CreatedColumn), at("r", t.CreatedColumn, created)
	}
	if t.Guard.StatusColumn != "" {
		n.FirstLive = quoteText(t.Guard.Live[0])
	}
	if t.Cancelled != "" {
		n.Cancelled = quoteText(t.Cancelled)
	}
	return n, nil
}
