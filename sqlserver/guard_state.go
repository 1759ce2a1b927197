package sqlserver

import (
	"database/sql"
	"fmt"
	"strings"

	"slotkeeper/app"
)

// indexes refuses what would make the trigger lock a whole table.
func (g *inspection) indexes(spec app.Guard, bookings, slots *guardTable) {
	if slot, _ := bookings.find(spec.SlotColumn); !slot.leads {
		second := spec.StatusColumn
		if spec.Overlap {
			second = spec.EndColumn
		}
		with := ""
		if second != "" {
			with = ", " + quoteName(second)
		}
		name := quoteName("slotkeeper_" + spec.SlotColumn)
		if len(name) > maxIdentifier {
			name = quoteName("slotkeeper_slot")
		}
		g.problem("no index of %s begins with %s, so each booking would lock the whole table; create one first: CREATE INDEX %s ON %s (%s%s)",
			bookings.quoted, quoteName(spec.SlotColumn), name, bookings.quoted, quoteName(spec.SlotColumn), with)
	}
	if key, _ := slots.find(spec.SlotsKey); !key.unique {
		g.problem("column %s of %s is not unique by itself: a primary key or unique index must say so", quoteName(spec.SlotsKey), slots.quoted)
	}
}

// triggers compares what is there with what would be made.
func (g *inspection) triggers() {
	triggers, err := guardTriggers(g.report.Spec)
	if err != nil {
		g.err = err
		return
	}
	for _, t := range triggers {
		f, err := installed(g.ctx, g.db, t)
		switch {
		case err != nil:
			g.err = err
			return
		case f.foreign:
			g.problem("%s", nameClash(t))
			continue
		case !f.there:
			g.report.Differences = append(g.report.Differences, fmt.Sprintf("trigger %s is not there", t.quoted()))
			continue
		}
		g.report.Installed = true
		if f.disabled {
			g.report.Differences = append(g.report.Differences, fmt.Sprintf("trigger %s is disabled", t.quoted()))
		}
		if sameText(f.text) != sameText(t.text) {
			g.report.Differences = append(g.report.Differences, fmt.Sprintf("trigger %s has another text than would be generated", t.quoted()))
		}
	}
}

// sameText ignores what tools do to the ends of lines and of the text.
func sameText(s string) string {
	return strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), " \t\n;")
}

// mostListed bounds a list for a person.
const mostListed = 20

// broken lists what breaks the promise already: the triggers would refuse every
// further booking there and let the old ones stand.
func (g *inspection) broken(spec app.Guard) {
	bookings, _ := parseTable(spec.Bookings) // inspect has parsed them
	slots, _ := parseTable(spec.Slots)
	n := guardNames{Bookings: bookings.quoted(), Slots: slots.quoted()}.of(spec)
	what := "broken_capacity"
	if spec.Overlap {
		what = "broken_overlap"
	}
	text, err := renderGuard(what, n)
	if err != nil {
		g.err = err
		return
	}
	var list []string
	g.rows(text, func(rows *sql.Rows) error {
		var slot string
		var live, capacity int64
		if err := rows.Scan(&slot, &live, &capacity); err != nil {
			return err
		}
		if spec.Overlap {
			list = append(list, fmt.Sprintf("%s (%d)", slot, live))
			return nil
		}
		list = append(list, fmt.Sprintf("%s (%d in %d)", slot, live, capacity))
		return nil
	}, sql.Named("limit", mostListed))
	if g.err != nil || len(list) == 0 {
		return
	}
	names, more := strings.Join(list, ", "), ""
	if len(list) == mostListed {
		more = " and perhaps more"
	}
	switch {
	case !spec.Overlap:
		g.problem("these slots hold more live bookings than their capacity: %s%s; put them right first", names, more)
	case spec.RowKey == "":
		g.problem("these resources have live bookings that overlap (so many): %s%s; put them right first, or name the row's key so that they may stand", names, more)
	default:
		g.report.Warnings = append(g.report.Warnings, fmt.Sprintf("these resources have live bookings that overlap (so many), which stand as they are: %s%s", names, more))
	}
}
