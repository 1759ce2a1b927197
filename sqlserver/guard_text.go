package sqlserver

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"strings"
	"text/template"
	"unicode/utf16"

	"slotkeeper/app"
)

//go:embed guard/*.sql
var guardFiles embed.FS

// maxIdentifier is the longest name of SQL Server, in UTF-16 units.
const maxIdentifier = 128

// guardTrigger is one trigger of a guard, ready to be created.
type guardTrigger struct {
	schema, name string // unquoted; schema is "" for the connection's own
	table        string // quoted
	text         string // the CREATE TRIGGER batch
}

// quoted returns the trigger's own name, quoted, with its schema.
func (t guardTrigger) quoted() string { return tableName{t.schema, t.name}.quoted() }

// tableName is a table's name in parts, unquoted.
type tableName struct{ schema, name string }

func (t tableName) quoted() string {
	if t.schema == "" {
		return quoteName(t.name)
	}
	return quoteName(t.schema) + "." + quoteName(t.name)
}

// quoteName makes any text one identifier.
func quoteName(s string) string { return "[" + strings.ReplaceAll(s, "]", "]]") + "]" }

// quoteText makes any text one literal. ASCII is no NVARCHAR: compared with a
// VARCHAR column that one would cost the index.
func quoteText(s string) string {
	prefix := ""
	for _, r := range s {
		if r > 126 {
			prefix = "N"
			break
		}
	}
	return prefix + "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// parseTable reads "Table", "schema.Table" and either part in brackets or
// double quotes.
func parseTable(s string) (tableName, error) {
	var parts []string
	rest := s
	for {
		part, after, err := parsePart(rest)
		if err != nil || part == "" || len(utf16.Encode([]rune(part))) > maxIdentifier {
			return tableName{}, fmt.Errorf("%q is no table name: write Table or schema.Table, a part with a dot in brackets", s)
		}
		parts = append(parts, part)
		if after == "" {
			break
		}
		rest = after[1:]
	}
	switch len(parts) {
	case 1:
		return tableName{name: parts[0]}, nil
	case 2:
		return tableName{parts[0], parts[1]}, nil
	}
	return tableName{}, fmt.Errorf("%q names a table of another database: a trigger can only guard its own", s)
}

// parsePart cuts one identifier off; after is "" or begins with the dot.
func parsePart(s string) (part, after string, err error) {
	if s == "" || s[0] != '[' && s[0] != '"' {
		part, _, _ = strings.Cut(s, ".")
		return part, s[len(part):], nil
	}
	closing := s[0]
	if closing == '[' {
		closing = ']'
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != closing {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == closing {
			b.WriteByte(closing)
			i++
			continue
		}
		if after = s[i+1:]; after != "" && after[0] != '.' {
			return "", "", fmt.Errorf("text behind a closing quote")
		}
		return b.String(), after, nil
	}
	return "", "", fmt.Errorf("a quote is not closed")
}

// guardNames are the quoted names that the templates in guard/ take.
type guardNames struct {
	Name, Bookings, Slot, Status             string
	Slots, Key, Capacity, Start, End, RowKey string
	SlotType, SlotVariable                   string // a variable's type takes no COLLATE
	AndLive, AndLiveI, AndLiveD, AndLiveB    string
	AndLiveR                                 string
}

func (n guardNames) of(g app.Guard) guardNames {
	n.Slot, n.Key, n.Capacity = quoteName(g.SlotColumn), quoteName(g.SlotsKey), quoteName(g.CapacityColumn)
	n.Start, n.End = quoteName(g.StartColumn), quoteName(g.EndColumn)
	if g.RowKey != "" {
		n.RowKey = quoteName(g.RowKey)
	}
	if n.SlotType = g.KeyType; n.SlotType == "" {
		n.SlotType = "BIGINT" // holds every integer key
	}
	n.SlotVariable, _, _ = strings.Cut(n.SlotType, " COLLATE ")
	if g.StatusColumn == "" {
		return n
	}
	n.Status = quoteName(g.StatusColumn)
	values := make([]string, len(g.Live))
	for i, v := range g.Live {
		values[i] = quoteText(v)
	}
	live := n.Status + " IN (" + strings.Join(values, ", ") + ")"
	n.AndLive, n.AndLiveI, n.AndLiveD, n.AndLiveB = " AND "+live, " AND i."+live, " AND d."+live, " AND b."+live
	n.AndLiveR = " AND r." + live
	return n
}

// guardTriggers returns the triggers that spec asks for, in the order in which
// they are created.
func guardTriggers(spec app.Guard) ([]guardTrigger, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	bookings, err := parseTable(spec.Bookings)
	if err != nil {
		return nil, err
	}
	slots, err := parseTable(spec.Slots)
	if err != nil {
		return nil, err
	}
	names := guardNames{Bookings: bookings.quoted(), Slots: slots.quoted()}.of(spec)
	kinds := []struct {
		on   tableName
		what string
	}{{bookings, "capacity"}, {slots, "slots"}}
	if spec.Overlap {
		kinds = kinds[:1]
		kinds[0].what = "overlap"
	}
	var triggers []guardTrigger
	for _, k := range kinds {
		t := guardTrigger{schema: k.on.schema, name: triggerName(k.what, k.on.name), table: k.on.quoted()}
		names.Name = t.quoted()
		if t.text, err = renderGuard(k.what, names); err != nil {
			return nil, err
		}
		triggers = append(triggers, t)
	}
	return triggers, nil
}

func renderGuard(what string, names guardNames) (string, error) {
	tmpl, err := template.ParseFS(guardFiles, "guard/"+what+".sql")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := tmpl.Execute(&b, names); err != nil {
		return "", err
	}
	text := strings.TrimRight(b.String(), "\n")
	if strings.Contains(text, "$(") {
		return "", fmt.Errorf("a name or value contains %q, which sqlcmd would replace: no script can carry it", "$(")
	}
	return text, nil
}

// triggerName is fixed by the table, so that a guard finds its own again.
func triggerName(what, table string) string {
	name := "slotkeeper_" + what + "_" + table
	if units := utf16.Encode([]rune(name)); len(units) > maxIdentifier {
		sum := sha256.Sum256([]byte(table))
		runes := []rune(table)
		for len(utf16.Encode(runes)) > maxIdentifier-len(what)-30 {
			runes = runes[:len(runes)-1]
		}
		name = fmt.Sprintf("slotkeeper_%s_%s_%x", what, string(runes), sum[:4])
	}
	return name
}

// GenerateGuard returns the T-SQL that puts the guard on, for a DBA to read and
// for sqlcmd or SSMS to run: each trigger is dropped, if it is there, and
// created anew, all in one transaction. It asks no database; where the slot's
// key is no integer, spec.KeyType must name its type. Errors:
// *app.ValidationError, or a sentence about a name that no script can carry.
func GenerateGuard(spec app.Guard) (string, error) {
	triggers, err := guardTriggers(spec)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(guardHeader)
	for _, t := range triggers {
		fmt.Fprintf(&b, "DROP TRIGGER IF EXISTS %s;\nGO\n%s%s\nGO\n%s", t.quoted(), guardStop, t.text, guardStop)
	}
	b.WriteString(guardFooter)
	return b.String(), nil
}

// guardHeader opens the script; guardStop keeps the batches behind a failed one
// from running outside the transaction, which XACT_ABORT alone would let happen.
const (
	guardHeader = `-- Slotkeeper guard. It creates triggers and alters no table.
-- To be run with sqlcmd -b, or in SSMS, by a login that may ALTER the tables.
SET XACT_ABORT ON;
SET NOCOUNT ON;
SET QUOTED_IDENTIFIER ON;
SET ANSI_NULLS ON;
GO
BEGIN TRANSACTION;
GO
`
	guardStop   = "IF @@TRANCOUNT = 0 SET NOEXEC ON;\nGO\n"
	guardFooter = "COMMIT TRANSACTION;\nGO\nSET NOEXEC OFF;\nGO\n"
)
