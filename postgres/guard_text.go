package postgres

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"

	"slotkeeper/app"
)

//go:embed guard/*.sql
var guardFiles embed.FS

// maxIdentifier is the longest name of Postgres, in bytes; it cuts longer ones.
const maxIdentifier = 63

// tableName is the name of a table, function or trigger in parts, unquoted.
type tableName struct{ schema, name string }

func (t tableName) quoted() string { return quoteName(t.schema) + "." + quoteName(t.name) }

// quoteName makes any text one identifier.
func quoteName(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// quoteText makes any text one literal, whatever the reader's
// standard_conforming_strings is.
func quoteText(s string) string {
	text := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(text, `\`) {
		text = "E" + strings.ReplaceAll(text, `\`, `\\`)
	}
	return text
}

const namePart = `(?:"((?:[^"]|"")+)"|\[((?:[^\]]|\]\])+)\]|([^."\[][^.]*))`

var tablePattern = regexp.MustCompile(`^(?:` + namePart + `\.)?` + namePart + `$`)

// parseTable reads "table", "schema.table" and either part in brackets or
// double quotes; no schema is public.
func parseTable(s string) (tableName, error) {
	m := tablePattern.FindStringSubmatch(s)
	if m == nil {
		return tableName{}, fmt.Errorf("%q is no table name: write table or schema.table, a part with a dot in double quotes", s)
	}
	part := func(m []string) string {
		return strings.ReplaceAll(m[0], `""`, `"`) + strings.ReplaceAll(m[1], "]]", "]") + m[2]
	}
	t := tableName{part(m[1:4]), part(m[4:7])}
	if t.schema == "" {
		t.schema = "public"
	}
	if len(t.schema) > maxIdentifier || len(t.name) > maxIdentifier {
		return tableName{}, fmt.Errorf("%q has a part of more than %d bytes, which no name of Postgres has", s, maxIdentifier)
	}
	return t, nil
}

// objectName is fixed by the table, so that a guard finds its own again.
func objectName(what, table string) string {
	name := "slotkeeper_" + what + "_" + table
	if len(name) <= maxIdentifier {
		return name
	}
	sum := fmt.Sprintf("_%x", sha256.Sum256([]byte(name)))[:9]
	name = name[:maxIdentifier-len(sum)]
	for !utf8.ValidString(name) {
		name = name[:len(name)-1]
	}
	return name + sum
}

// keyTypes are the types of a slot's key, by their one name. They and their
// comparisons are in pg_catalog, where no one can put others in their place.
var keyTypes = []string{"bigint", "uuid", "text", "bpchar", "numeric", "date", "timestamp without time zone", "timestamp with time zone"}

// guardNames are the quoted names that the templates in guard/ take.
type guardNames struct {
	Turns, Bookings, Slot                    string
	Slots, Key, Capacity, Start, End, RowKey string
	KeyType                                  string
	live                                     string // "" or `"Status" IN (…)`
}

// Live is the condition of a live row of an alias, with its AND.
func (n guardNames) Live(alias string) string {
	if n.live == "" {
		return ""
	}
	return " AND " + alias + "." + n.live
}

func guardNamesOf(g app.Guard, bookings, slots tableName) (guardNames, error) {
	n := guardNames{
		Bookings: bookings.quoted(), Slot: quoteName(g.SlotColumn),
		Slots: slots.quoted(), Key: quoteName(g.SlotsKey), Capacity: quoteName(g.CapacityColumn),
		Start: quoteName(g.StartColumn), End: quoteName(g.EndColumn), KeyType: strings.ToLower(g.KeyType),
	}
	switch n.KeyType {
	case "", "integer", "smallint":
		n.KeyType = "bigint" // holds every integer key
	}
	if !slices.Contains(keyTypes, n.KeyType) {
		return n, fmt.Errorf("%q is no type that the key of the slots can have on Postgres: use one of %s", g.KeyType, strings.Join(keyTypes, ", "))
	}
	if g.RowKey != "" {
		n.RowKey = quoteName(g.RowKey)
	}
	if g.StatusColumn != "" {
		values := make([]string, len(g.Live))
		for i, v := range g.Live {
			values[i] = quoteText(v)
		}
		n.live = quoteName(g.StatusColumn) + " IN (" + strings.Join(values, ", ") + ")"
	}
	for _, name := range []string{g.SlotColumn, g.SlotsKey, g.CapacityColumn, g.StatusColumn, g.StartColumn, g.EndColumn, g.RowKey} {
		if len(name) > maxIdentifier {
			return n, fmt.Errorf("%q has more than %d bytes, which no name of Postgres has", name, maxIdentifier)
		}
	}
	return n, nil
}

func renderGuard(what string, names guardNames) (string, error) {
	tmpl, err := template.ParseFS(guardFiles, "guard/"+what+".sql", "guard/turn.sql")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := tmpl.Execute(&b, names); err != nil {
		return "", err
	}
	return b.String(), nil
}

// look returns a statement that asks the catalogue.
func look(what string) string {
	b, err := guardFiles.ReadFile("guard/look_" + what + ".sql")
	if err != nil {
		panic("no statement guard/look_" + what + ".sql")
	}
	return string(b)
}
