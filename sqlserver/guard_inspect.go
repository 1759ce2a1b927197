package sqlserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"slotkeeper/app"
)

// guardMark is in the text of every trigger that GenerateGuard makes.
const guardMark = "-- Made by slotkeeper guard"

// found is a trigger as the database has it.
type found struct {
	there, foreign, disabled bool
	text                     string
}

func installed(ctx context.Context, db *sql.DB, t guardTrigger) (f found, err error) {
	var text sql.NullString
	var disabled sql.NullBool
	var onTable bool
	err = db.QueryRowContext(ctx, query("guard_trigger"), sql.Named("name", t.quoted()), sql.Named("table", t.table)).
		Scan(&text, &disabled, &onTable)
	if errors.Is(err, sql.ErrNoRows) {
		return found{}, nil
	}
	// An encrypted trigger's text is NULL: that is none of ours.
	f = found{there: true, disabled: disabled.Bool, text: text.String}
	f.foreign = !onTable || !strings.Contains(f.text, guardMark)
	return f, err
}

func nameClash(t guardTrigger) string {
	return fmt.Sprintf("something else has the name %s already; rename it", t.quoted())
}

// inspect fills a report. What cannot be looked at because something before it
// is missing is left out.
func inspect(ctx context.Context, db *sql.DB, spec app.Guard) (GuardReport, error) {
	report := GuardReport{Spec: spec}
	if _, err := guardTriggers(spec); err != nil { // the names themselves
		return report, err
	}
	g := inspection{ctx: ctx, db: db, report: &report}
	bookings, slots := g.table(spec.Bookings), g.table(spec.Slots)
	if g.err != nil || bookings == nil || slots == nil {
		return report, translate(g.err)
	}
	g.columns(spec, bookings, slots)
	if g.err != nil || len(report.Problems) > 0 {
		return report, translate(g.err)
	}
	g.indexes(spec, bookings, slots)
	g.triggers()
	if g.err == nil && len(report.Problems) == 0 {
		g.broken(spec)
	}
	return report, translate(g.err)
}

// inspection keeps the first error, so that its steps read as one list.
type inspection struct {
	ctx    context.Context
	db     *sql.DB
	report *GuardReport
	err    error
}

func (g *inspection) problem(format string, a ...any) {
	g.report.Problems = append(g.report.Problems, fmt.Sprintf(format, a...))
}

// rows runs a statement of sql/ and visits its rows.
func (g *inspection) rows(text string, visit func(*sql.Rows) error, a ...any) {
	if g.err != nil {
		return
	}
	rows, err := g.db.QueryContext(g.ctx, text, a...)
	if err != nil {
		g.err = err
		return
	}
	defer rows.Close()
	for g.err == nil && rows.Next() {
		g.err = visit(rows)
	}
	g.err = errors.Join(g.err, rows.Err())
}

// guardTable is a table as the catalogue has it.
type guardTable struct {
	quoted  string
	columns map[string]column
}

type column struct {
	base             string // INT, NVARCHAR …
	length           int    // bytes, -1 is MAX
	precision, scale int
	collation        string
	leads, unique    bool // an index without a filter begins with it; it alone is unique
}

// table reads a table; nil, with a problem noted, where there is none.
func (g *inspection) table(name string) *guardTable {
	parsed, err := parseTable(name)
	if err != nil {
		g.err = errors.Join(g.err, err)
		return nil
	}
	t := &guardTable{quoted: parsed.quoted(), columns: map[string]column{}}
	var schema, own sql.NullString
	var memory sql.NullInt64
	g.rows(query("guard_table"), func(rows *sql.Rows) error { return rows.Scan(&schema, &own, &memory) }, sql.Named("table", t.quoted))
	switch {
	case g.err != nil:
		return nil
	case !schema.Valid:
		g.problem("there is no table %s, or this login may not see it", t.quoted)
		return nil
	case parsed.schema == "" && schema.String != own.String:
		g.problem("table %s is in schema %s, which is not this login's own: name it %s.%s", t.quoted,
			quoteName(schema.String), quoteName(schema.String), t.quoted)
	case memory.Int64 == 1:
		g.problem("table %s is memory-optimized, where lock hints do not hold", t.quoted)
	}
	g.rows(query("guard_columns"), func(rows *sql.Rows) error {
		var name string
		var c column
		err := rows.Scan(&name, &c.base, &c.length, &c.precision, &c.scale, &c.collation, &c.leads, &c.unique)
		c.base = strings.ToUpper(c.base)
		t.columns[name] = c
		return err
	}, sql.Named("table", t.quoted))
	return t
}

// find returns a column. Most databases do not tell capital letters from small
// ones; in one that does, the trigger's own creation fails on a wrong one.
func (t *guardTable) find(name string) (column, bool) {
	c, ok := t.columns[name]
	for other := range t.columns {
		if !ok && strings.EqualFold(other, name) {
			return t.columns[other], true
		}
	}
	return c, ok
}

// column returns a column; a missing one is a problem.
func (g *inspection) column(t *guardTable, name string) (column, bool) {
	c, ok := t.find(name)
	if !ok {
		names := make([]string, 0, len(t.columns))
		for n := range t.columns {
			names = append(names, n)
		}
		slices.Sort(names)
		g.problem("table %s has no column %s; it has %s", t.quoted, quoteName(name), strings.Join(names, ", "))
	}
	return c, ok
}

var integers = []string{"TINYINT", "SMALLINT", "INT", "BIGINT"}

func (g *inspection) columns(spec app.Guard, bookings, slots *guardTable) {
	slot, ok1 := g.column(bookings, spec.SlotColumn)
	key, ok2 := g.column(slots, spec.SlotsKey)
	if ok1 && ok2 {
		g.keyType(spec, bookings, slots, slot, key)
	}
	for _, optional := range []string{spec.UserColumn, spec.StatusColumn, spec.RowKey} {
		if optional != "" {
			g.column(bookings, optional)
		}
	}
	if spec.Overlap {
		from, ok1 := g.column(bookings, spec.StartColumn)
		to, ok2 := g.column(bookings, spec.EndColumn)
		if ok1 && ok2 && (from.base != to.base || !slices.Contains([]string{"DATE", "DATETIME", "SMALLDATETIME", "DATETIME2", "DATETIMEOFFSET"}, from.base)) {
			g.problem("columns %s (%s) and %s (%s) must both be of one date or time type", quoteName(spec.StartColumn), from.base, quoteName(spec.EndColumn), to.base)
		}
		return
	}
	if c, ok := g.column(slots, spec.CapacityColumn); ok && !slices.Contains(integers, c.base) {
		g.problem("column %s of %s is %s; a capacity must be a whole number", quoteName(spec.CapacityColumn), slots.quoted, c.base)
	}
}

// keyType finds the type that a trigger's variable must have.
func (g *inspection) keyType(spec app.Guard, bookings, slots *guardTable, slot, key column) {
	whole := slices.Contains(integers, slot.base) && slices.Contains(integers, key.base)
	if !whole && (slot.base != key.base || slot.collation != key.collation) {
		g.problem("column %s of %s is %s and %s of %s is %s: they must have one type and collation", quoteName(spec.SlotColumn),
			bookings.quoted, slot.describe(), quoteName(spec.SlotsKey), slots.quoted, key.describe())
		return
	}
	name, ok := key.declare()
	if whole {
		name, ok = "", true
	}
	if !ok {
		g.problem("column %s of %s is %s, which no key can be", quoteName(spec.SlotsKey), slots.quoted, key.describe())
		return
	}
	g.report.Spec.KeyType = name
}

func (c column) describe() string { return strings.TrimSpace(c.base + " " + c.collation) }

// declare writes the type of a variable that holds this key.
func (c column) declare() (string, bool) {
	switch c.base {
	case "UNIQUEIDENTIFIER", "DATE", "DATETIME", "SMALLDATETIME":
		return c.base, true
	case "DATETIME2", "DATETIMEOFFSET":
		return fmt.Sprintf("%s(%d)", c.base, c.scale), true
	case "DECIMAL", "NUMERIC":
		return fmt.Sprintf("%s(%d, %d)", c.base, c.precision, c.scale), true
	case "CHAR", "VARCHAR", "NCHAR", "NVARCHAR":
		length := c.length
		if c.base[0] == 'N' {
			length /= 2
		}
		return fmt.Sprintf("%s(%d) COLLATE %s", c.base, length, c.collation), c.length > 0
	}
	return "", false
}
