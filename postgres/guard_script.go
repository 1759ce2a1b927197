package postgres

import (
	"fmt"
	"strings"

	"slotkeeper/app"
)

// guardMark is in what GenerateGuard makes, so that nothing else is dropped.
const guardMark = "Made by slotkeeper guard"

// guardObjects are what a guard consists of, in the order of their creation.
type guardObjects struct {
	turns     guardTurns
	functions []guardFunction
	triggers  []guardTrigger
}

// guardTurns is a table of our own with one row for each slot that was ever
// booked, changed by each writer: that is what a transaction with an old
// snapshot notices. It holds nothing that matters once no transaction runs. So
// it is unlogged: no WAL, no replication, and empty after a crash.
type guardTurns struct {
	table   tableName
	keyType string
}

// guardFunction runs as its owner: a writer needs no right on the slots, and
// row security hides nothing from the count.
type guardFunction struct {
	name tableName
	body string
}

func (f guardFunction) quoted() string { return f.name.quoted() + "()" }

// guardTrigger is one for each statement: it judges the rows together and locks
// in one order. With transition tables it can have no second event.
type guardTrigger struct {
	table    tableName
	name     string
	event    string // INSERT or UPDATE
	function guardFunction
}

func (t guardTrigger) String() string { return quoteName(t.name) + " on " + t.table.quoted() }

func guardObjectsOf(spec app.Guard) (o guardObjects, err error) {
	if err := spec.Validate(); err != nil {
		return o, err
	}
	bookings, err := parseTable(spec.Bookings)
	if err != nil {
		return o, err
	}
	slots, err := parseTable(spec.Slots)
	if err != nil {
		return o, err
	}
	names, err := guardNamesOf(spec, bookings, slots)
	if err != nil {
		return o, err
	}
	what := "capacity"
	if spec.Overlap {
		what = "overlap"
	}
	o.turns = guardTurns{tableName{bookings.schema, objectName(what+"_turns", bookings.name)}, names.KeyType}
	names.Turns = o.turns.table.quoted()
	function := func(what string) (f guardFunction) {
		f.name = tableName{bookings.schema, objectName(what, bookings.name)}
		if err == nil {
			f.body, err = renderGuard(what, names)
		}
		o.functions = append(o.functions, f)
		return f
	}
	judge := function(what)
	for _, event := range []string{"INSERT", "UPDATE"} {
		o.triggers = append(o.triggers, guardTrigger{bookings, "slotkeeper_" + what + "_" + strings.ToLower(event), event, judge})
	}
	if !spec.Overlap {
		o.triggers = append(o.triggers, guardTrigger{slots, objectName("slots", bookings.name), "UPDATE", function("slots")})
	}
	return o, err
}

// GenerateGuard returns the SQL that puts the guard on, for a DBA to read and
// for psql to run: what is there of it is dropped and created anew, all in one
// transaction. It asks no database; where the slot's key is no integer,
// spec.KeyType must name its type. Errors: *app.ValidationError, or a sentence
// about a name or type that Postgres cannot have.
func GenerateGuard(spec app.Guard) (string, error) {
	o, err := guardObjectsOf(spec)
	if err != nil {
		return "", err
	}
	return o.script(true), nil
}

// script gives up on a lock before a second has passed, which is when Postgres
// looks for deadlocks: of the guard and a program, the guard is to give way.
func (o guardObjects) script(create bool) string {
	var b strings.Builder
	b.WriteString(`-- Slotkeeper guard. It creates triggers, functions and one small table; it alters no table.
-- To be run with psql -v ON_ERROR_STOP=1, by the owner of the tables.
BEGIN;
SET LOCAL lock_timeout TO '500ms';
SET LOCAL client_min_messages TO warning;
SET LOCAL search_path TO pg_catalog, pg_temp;
SET LOCAL standard_conforming_strings TO on;

`)
	for _, t := range o.triggers {
		fmt.Fprintf(&b, "DROP TRIGGER IF EXISTS %s ON %s;\n", quoteName(t.name), t.table.quoted())
	}
	for _, f := range o.functions {
		fmt.Fprintf(&b, "DROP FUNCTION IF EXISTS %s;\n", f.quoted())
	}
	fmt.Fprintf(&b, "DROP TABLE IF EXISTS %s;\n", o.turns.table.quoted())
	if create {
		o.create(&b)
	}
	b.WriteString("\nCOMMIT;\n")
	return b.String()
}

func (o guardObjects) create(b *strings.Builder) {
	fmt.Fprintf(b, "\nCREATE UNLOGGED TABLE %s (slot %s PRIMARY KEY, turn bigint NOT NULL DEFAULT 1) WITH (fillfactor = 50);\n",
		o.turns.table.quoted(), o.turns.keyType)
	fmt.Fprintf(b, "COMMENT ON TABLE %s IS '%s: locks, no data; unlogged on purpose.';\n", o.turns.table.quoted(), guardMark)
	for _, f := range o.functions {
		quote := dollarQuote(f.body)
		fmt.Fprintf(b, `
CREATE FUNCTION %s RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO pg_catalog, pg_temp
SET row_security TO off
AS %s%s%s;
REVOKE ALL ON FUNCTION %s FROM PUBLIC;
`, f.quoted(), quote, f.body, quote, f.quoted())
	}
	b.WriteString("\n")
	for _, t := range o.triggers {
		old := ""
		if t.event == "UPDATE" {
			old = "OLD TABLE AS old_rows "
		}
		fmt.Fprintf(b, "CREATE TRIGGER %s AFTER %s ON %s\n    REFERENCING %sNEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION %s;\n",
			quoteName(t.name), t.event, t.table.quoted(), old, t.function.quoted())
	}
}

// dollarQuote returns a quote that the text does not contain.
func dollarQuote(text string) string {
	for n := 0; ; n++ {
		if quote := fmt.Sprintf("$guard%d$", n); !strings.Contains(text, quote) {
			return quote
		}
	}
}
