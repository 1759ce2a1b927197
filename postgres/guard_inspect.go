package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"slotkeeper/app"
)

// inspect fills a report. What cannot be looked at because something before it
// is missing is left out.
func inspect(ctx context.Context, conn *pgx.Conn, spec app.Guard) (GuardReport, error) {
	spec.KeyType = "" // looked up
	report := GuardReport{Spec: spec}
	if _, err := guardObjectsOf(spec); err != nil { // the names themselves
		return report, err
	}
	err := looking(ctx, conn, func(tx pgx.Tx) error {
		g := inspection{ctx: ctx, tx: tx, report: &report}
		g.all(spec)
		return g.err
	})
	var refused *GuardError
	if errors.As(notAllowed(err), &refused) {
		report.Problems, err = append(report.Problems, refused.Problems...), nil
	}
	return report, err
}

func (g *inspection) all(spec app.Guard) {
	bookings, slots := g.table(spec.Bookings), g.table(spec.Slots)
	if g.err != nil || bookings == nil || slots == nil {
		return
	}
	g.columns(spec, bookings, slots)
	if g.err != nil || len(g.report.Problems) > 0 {
		return
	}
	g.indexes(spec, bookings, slots)
	g.reference(spec, bookings, slots)
	objects, err := guardObjectsOf(g.report.Spec)
	if err != nil {
		g.err = err
		return
	}
	g.state(objects)
	if g.err == nil && len(g.report.Problems) == 0 {
		g.broken(spec, bookings, slots)
	}
}

// inspection keeps the first error, so that its steps read as one list.
type inspection struct {
	ctx    context.Context
	tx     pgx.Tx
	report *GuardReport
	err    error
}

func (g *inspection) problem(format string, a ...any) {
	g.report.Problems = append(g.report.Problems, fmt.Sprintf(format, a...))
}

func (g *inspection) warning(format string, a ...any) {
	g.report.Warnings = append(g.report.Warnings, fmt.Sprintf(format, a...))
}

// rows runs a statement, scans each row into to, and then calls visit.
func (g *inspection) rows(text string, args, to []any, visit func()) {
	if g.err != nil {
		return
	}
	rows, err := g.tx.Query(g.ctx, text, args...)
	if err == nil {
		_, err = pgx.ForEachRow(rows, to, func() error { visit(); return nil })
	}
	g.err = err
}

// guardTable is a table as the catalogue has it.
type guardTable struct {
	tableName
	columns map[string]guardColumn
}

type guardColumn struct {
	base          string // integer, text … or enum; with its schema if not of pg_catalog
	collation     string
	never         bool // NULL
	leads, unique bool // an index without a predicate begins with it; it alone is unique
}

func (c guardColumn) describe() string { return strings.TrimSpace(c.base + " " + c.collation) }

// table reads a table; nil, with a problem noted, where there is none.
func (g *inspection) table(name string) *guardTable {
	parsed, err := parseTable(name)
	if err != nil {
		g.err = errors.Join(g.err, err)
		return nil
	}
	t := &guardTable{parsed, map[string]guardColumn{}}
	var there, plain, family, hides, risky bool
	g.rows(look("table"), []any{t.schema, t.name}, []any{&plain, &family, &hides, &risky}, func() { there = true })
	switch {
	case g.err != nil:
		return nil
	case !there:
		g.problem("there is no table %s%s", t.quoted(), g.alike(t.name))
		return nil
	case !plain:
		g.problem("%s is no plain table: name the table whose rows it shows", t.quoted())
		return nil
	case family:
		g.problem("table %s has partitions or heirs, or is one: a statement that names one of them would go past the guard", t.quoted())
	case hides:
		g.problem("row security hides rows of %s from this login: log in as its owner, without FORCE ROW LEVEL SECURITY", t.quoted())
	case risky:
		g.warning("the guard's functions run with the rights of who installs it, and this login is a superuser that does not own %s: better install it as the owner", t.quoted())
	}
	var c guardColumn
	var called string
	g.rows(look("columns"), []any{t.quoted()},
		[]any{&called, &c.base, &c.collation, &c.never, &c.leads, &c.unique},
		func() { t.columns[called] = c })
	return t
}

// alike names tables that may have been meant: names are taken as written,
// capitals too, and without a schema they are looked for in public.
func (g *inspection) alike(name string) string {
	var one string
	var found []string
	g.rows(look("alike"), []any{name}, []any{&one}, func() { found = append(found, one) })
	if len(found) == 0 {
		return ""
	}
	return "; there is " + strings.Join(found, ", ")
}

// column returns a column; a missing one is a problem.
func (g *inspection) column(t *guardTable, name string) (guardColumn, bool) {
	c, ok := t.columns[name]
	if !ok {
		names := make([]string, 0, len(t.columns))
		for n := range t.columns {
			names = append(names, n)
		}
		slices.Sort(names)
		g.problem("table %s has no column %s; it has %s", t.quoted(), quoteName(name), strings.Join(names, ", "))
	}
	return c, ok
}

var (
	integers = []string{"smallint", "integer", "bigint"}
	moments  = []string{"date", "timestamp without time zone", "timestamp with time zone"}
)

func (g *inspection) columns(spec app.Guard, bookings, slots *guardTable) {
	slot, ok1 := g.column(bookings, spec.SlotColumn)
	key, ok2 := g.column(slots, spec.SlotsKey)
	if ok1 && ok2 {
		g.keyType(spec, bookings, slots, slot, key)
	}
	for _, optional := range []string{spec.UserColumn, spec.StatusColumn, spec.RowKey} {
		if optional == "" {
			continue
		}
		c, ok := g.column(bookings, optional)
		comparable := keyType(c.base) != "" || c.base == "enum" || c.base == "boolean"
		if ok && optional != spec.UserColumn && !comparable {
			g.problem("column %s of %s is %s, which the guard cannot compare", quoteName(optional), bookings.quoted(), c.base)
		}
	}
	if spec.Overlap {
		g.rangeColumns(spec, bookings)
		return
	}
	if c, ok := g.column(slots, spec.CapacityColumn); ok && !slices.Contains(integers, c.base) {
		g.problem("column %s of %s is %s; a capacity must be a whole number", quoteName(spec.CapacityColumn), slots.quoted(), c.base)
	}
}

func (g *inspection) rangeColumns(spec app.Guard, bookings *guardTable) {
	from, ok1 := g.column(bookings, spec.StartColumn)
	to, ok2 := g.column(bookings, spec.EndColumn)
	switch {
	case !ok1 || !ok2:
	case from.base != to.base || !slices.Contains(moments, from.base):
		g.problem("columns %s (%s) and %s (%s) must both be of one date or time type",
			quoteName(spec.StartColumn), from.base, quoteName(spec.EndColumn), to.base)
	case !from.never || !to.never:
		g.warning("%s or %s of %s may be NULL: such rows are not judged and take no time",
			quoteName(spec.StartColumn), quoteName(spec.EndColumn), bookings.quoted())
	}
}

// keyType finds the type that a trigger's variable must have.
func (g *inspection) keyType(spec app.Guard, bookings, slots *guardTable, slot, key guardColumn) {
	if keyType(slot.base) != keyType(key.base) || slot.collation != key.collation {
		g.problem("column %s of %s is %s and %s of %s is %s: they must have one type and collation", quoteName(spec.SlotColumn),
			bookings.quoted(), slot.describe(), quoteName(spec.SlotsKey), slots.quoted(), key.describe())
		return
	}
	if g.report.Spec.KeyType = keyType(key.base); g.report.Spec.KeyType == "" {
		g.problem("column %s of %s is %s, which the guard cannot compare", quoteName(spec.SlotsKey), slots.quoted(), key.base)
	}
}

// keyType returns one of keyTypes for a column's type, or "".
func keyType(base string) string {
	switch {
	case slices.Contains(integers, base):
		return "bigint"
	case base == "character varying":
		return "text"
	case base == "character":
		return "bpchar"
	case slices.Contains(keyTypes, base):
		return base
	}
	return ""
}

// refusedValue says whether the database could not read a literal.
func refusedValue(err error) (string, bool) {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && strings.HasPrefix(pg.Code, "22") {
		return pg.Message, true
	}
	return "", false
}
