package postgres

import (
	"fmt"
	"strings"

	"slotkeeper/app"
)

// indexes refuses what would make the trigger read a whole table.
func (g *inspection) indexes(spec app.Guard, bookings, slots *guardTable) {
	if !bookings.columns[spec.SlotColumn].leads {
		second := spec.StatusColumn
		if spec.Overlap {
			second = spec.EndColumn
		}
		with := ""
		if second != "" {
			with = ", " + quoteName(second)
		}
		g.problem("no index of %s begins with %s, so each booking would read the whole table; create one first: CREATE INDEX CONCURRENTLY %s ON %s (%s%s)",
			bookings.quoted(), quoteName(spec.SlotColumn), quoteName(objectName("slot", bookings.name)), bookings.quoted(), quoteName(spec.SlotColumn), with)
	}
	if !slots.columns[spec.SlotsKey].unique {
		g.problem("column %s of %s is not unique by itself: a primary key or unique index must say so", quoteName(spec.SlotsKey), slots.quoted())
	}
}

// reference warns where a booking can be there before its slot.
func (g *inspection) reference(spec app.Guard, bookings, slots *guardTable) {
	var known bool
	g.rows(look("reference"), []any{bookings.quoted(), spec.SlotColumn, slots.quoted()}, []any{&known}, func() {})
	if g.err == nil && !known {
		g.warning("no foreign key says that %s of %s is in %s: a booking of one that is not there is not judged when that one comes",
			quoteName(spec.SlotColumn), bookings.quoted(), slots.quoted())
	}
}

// state compares what is there with what would be made.
func (g *inspection) state(o guardObjects) {
	g.turns(o.turns)
	for _, f := range o.functions {
		g.function(f)
	}
	for _, t := range o.triggers {
		g.trigger(t)
	}
}

func (g *inspection) differs(format string, a ...any) {
	g.report.Differences = append(g.report.Differences, fmt.Sprintf(format, a...))
}

func (g *inspection) nameClash(name string) {
	g.problem("something else has the name %s already; rename it", name)
}

func (g *inspection) turns(t guardTurns) {
	name := t.table.quoted()
	var there bool
	var comment, found string
	g.rows(look("turns"), []any{name}, []any{&comment, &found}, func() { there = true })
	switch want := "ru, slot " + t.keyType + ", turn bigint, key 1"; {
	case g.err != nil:
	case !there:
		g.differs("table %s is not there", name)
	case !strings.HasPrefix(comment, guardMark):
		g.nameClash(name)
	case found != want:
		g.differs("table %s has another shape than would be made", name)
	}
}

func (g *inspection) function(f guardFunction) {
	var there, same bool
	var body string
	g.rows(look("function"), []any{f.quoted()}, []any{&body, &same}, func() { there = true })
	switch {
	case g.err != nil:
	case !there:
		g.differs("function %s is not there", f.quoted())
	case !strings.Contains(body, "-- "+guardMark):
		g.nameClash(f.quoted())
	case body != f.body:
		g.differs("function %s has another text than would be generated", f.quoted())
	case !same:
		g.differs("function %s has other settings or rights than would be made", f.quoted())
	}
}

func (g *inspection) trigger(t guardTrigger) {
	kind := 4
	if t.event == "UPDATE" {
		kind = 16
	}
	var there, ours, enabled, same bool
	g.rows(look("trigger"), []any{t.table.quoted(), t.name, t.function.quoted(), kind}, []any{&ours, &enabled, &same}, func() { there = true })
	switch {
	case g.err != nil:
	case !there:
		g.differs("trigger %s is not there", t)
	case !ours:
		g.nameClash(t.String())
	default:
		g.report.Installed = true
		if !enabled {
			g.differs("trigger %s is disabled", t)
		}
		if !same {
			g.differs("trigger %s has another definition than would be made", t)
		}
	}
}

// mostListed bounds a list for a person.
const mostListed = 20

// broken lists what breaks the promise already: the triggers would refuse every
// further booking there and let the old ones stand. It is also where the
// database first reads the live values.
func (g *inspection) broken(spec app.Guard, bookings, slots *guardTable) {
	what := "broken_capacity"
	if spec.Overlap {
		what = "broken_overlap"
	}
	names, err := guardNamesOf(spec, bookings.tableName, slots.tableName)
	if err != nil {
		g.err = err
		return
	}
	text, err := renderGuard(what, names)
	if err != nil {
		g.err = err
		return
	}
	var slot string
	var live, capacity int64
	var list []string
	g.rows(text, []any{mostListed}, []any{&slot, &live, &capacity}, func() {
		if spec.Overlap {
			list = append(list, fmt.Sprintf("%s (%d)", slot, live))
			return
		}
		list = append(list, fmt.Sprintf("%s (%d in %d)", slot, live, capacity))
	})
	if said, bad := refusedValue(g.err); bad {
		g.err = nil
		g.problem("a live value does not fit column %s of %s: %s", quoteName(spec.StatusColumn), bookings.quoted(), said)
	}
	if g.err == nil && len(list) > 0 {
		g.brokenList(spec, list)
	}
}

func (g *inspection) brokenList(spec app.Guard, list []string) {
	names := strings.Join(list, ", ")
	if len(list) == mostListed {
		names += " and perhaps more"
	}
	switch {
	case !spec.Overlap:
		g.problem("these slots hold more live bookings than their capacity: %s; put them right first", names)
	case spec.RowKey == "":
		g.problem("these resources have live bookings that overlap (so many): %s; put them right first, or name the row's key so that they may stand", names)
	default:
		g.warning("these resources have live bookings that overlap (so many), which stand as they are: %s", names)
	}
}
