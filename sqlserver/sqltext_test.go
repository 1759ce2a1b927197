package sqlserver

import (
	"context"
	"flag"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sqlc-dev/teesql/parser"
	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

var update = flag.Bool("update", false, "write the golden files anew")

// ownTables is the guard that our own schema has from the start.
var ownTables = app.Guard{
	Bookings: "reservations", SlotColumn: "slot_id", UserColumn: "user_id", StatusColumn: "status", Live: []string{"held", "confirmed"},
	Slots: "slots", SlotsKey: "id", CapacityColumn: "capacity",
}

var clinic = app.Guard{
	Bookings: "dbo.Appointments", SlotColumn: "SlotId", UserColumn: "PatientId", StatusColumn: "Status", Live: []string{"Booked", "CheckedIn"},
	Slots: "dbo.Sessions", SlotsKey: "Id", CapacityColumn: "MaxPatients",
}

// hostile has names that end quotes, comments and statements where they can.
var hostile = app.Guard{
	Bookings: `[Praxis; DROP TABLE x --].[Termine]]' GO */ 予約]`, SlotColumn: "Slot]; DELETE x --", UserColumn: "Größe \"x\"",
	StatusColumn: "Zu'stand", Live: []string{"o'k", "予約", "'; DROP TABLE y --"},
	Slots: `"a.b"."Sitzung ""]"`, SlotsKey: "Schlüssel [1]", CapacityColumn: "max -- Plätze",
	KeyType: "NVARCHAR(40) COLLATE Latin1_General_CI_AS",
}

var overlap = app.Guard{
	Bookings: "dbo.RoomBookings", SlotColumn: "RoomId", StatusColumn: "Status", Live: []string{"1"},
	Slots: "dbo.Rooms", SlotsKey: "Id", Overlap: true, StartColumn: "FromTime", EndColumn: "ToTime", RowKey: "Id",
}

// Seen red with: COUNT_BIG(*) without UPDLOCK, which the golden file shows.
func TestGuardText(t *testing.T) {
	for name, spec := range map[string]app.Guard{"guard_clinic": clinic, "guard_hostile": hostile, "guard_overlap": overlap} {
		t.Run(name, func(t *testing.T) {
			text, err := GenerateGuard(spec)
			require.NoError(t, err)
			golden := filepath.Join("testdata", name+".sql")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(text), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), text)
			for _, batch := range strings.Split(text, "\nGO\n") {
				parses(t, name, batch)
			}
		})
	}
}

// The migration's capacity triggers are what the guard would make, so that one
// text is reviewed and both are right. Seen red with: HOLDLOCK taken out of the
// migration alone.
func TestOwnTriggersAreTheGuards(t *testing.T) {
	migration, err := migrationFiles.ReadFile("migrations/00001_init.sql")
	require.NoError(t, err)
	triggers, err := guardTriggers(ownTables)
	require.NoError(t, err)
	for _, g := range triggers {
		require.Contains(t, string(migration), g.text)
	}
}

// Every statement is parsed as T-SQL. Seen red with: a bracket left open in
// reserve.sql, and a hint misspelt UPDLOK.
func TestStatementsParse(t *testing.T) {
	for name, text := range statements {
		parses(t, name, text)
	}
	for _, name := range []string{"00001_init", "00002_nights"} {
		b, err := migrationFiles.ReadFile("migrations/" + name + ".sql")
		require.NoError(t, err)
		for _, text := range migrationStatements(string(b)) {
			parses(t, name, text)
		}
	}
}

// The templates, too, with and without what is optional in them.
func TestTemplatesParse(t *testing.T) {
	plain := clinic
	plain.StatusColumn, plain.Live = "", nil
	for _, spec := range []app.Guard{clinic, hostile, plain} {
		g := guardNames{Bookings: "[dbo].[B]", Slots: "[dbo].[S]"}.of(spec)
		served := servedNames{guardNames: g, User: "[U]", BookingKey: "[Id]", Start: "s.[From]", End: "s.[To]", RawStart: "[From]",
			From: "@from", To: "@to", CreatedAt: "CAST(NULL AS DATETIMEOFFSET(6))", FirstLive: "'x'"}
		texts, err := renderServed(served)
		require.NoError(t, err)
		for name, text := range texts {
			parses(t, "served/"+name, text)
		}
		for _, what := range []string{"broken_capacity", "broken_overlap"} {
			text, err := renderGuard(what, g)
			require.NoError(t, err)
			parses(t, "guard/"+what, text)
		}
	}
}

var statementBlock = regexp.MustCompile(`(?s)-- \+goose StatementBegin\n(.*?)-- \+goose StatementEnd`)

func migrationStatements(text string) (found []string) {
	for _, m := range statementBlock.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

func parses(t *testing.T, name, text string) {
	t.Helper()
	script, err := parser.Parse(context.Background(), strings.NewReader(text))
	require.NoError(t, err, "%s:\n%s", name, text)
	for _, b := range script.Batches {
		require.NotEmpty(t, b.Statements, "%s has a batch without a statement", name)
	}
}

// Lock hints come in pairs: one without the other is a trap, see databases.md.
// Seen red with: "WITH (HOLDLOCK)" in cancel.sql.
func TestHintsComeInPairs(t *testing.T) {
	hints := regexp.MustCompile(`WITH \(([A-Z, ]+)\)`)
	texts := map[string]string{}
	for name, text := range statements {
		texts[name] = text
	}
	for _, folder := range []fs.FS{migrationFiles, guardFiles, queryFiles} {
		files, err := fs.Glob(folder, "*/*.sql")
		require.NoError(t, err)
		for _, f := range files {
			b, err := fs.ReadFile(folder, f)
			require.NoError(t, err)
			texts[f] = string(b)
		}
	}
	for name, text := range texts {
		for _, m := range hints.FindAllStringSubmatch(text, -1) {
			require.Contains(t, []string{"UPDLOCK, HOLDLOCK", "READPAST"}, m[1], name)
			require.False(t, m[1] == "READPAST" && !strings.HasPrefix(path.Base(name), "sweep"), "READPAST counts too little: %s", name)
		}
	}
}

// What OPENJSON gives has the database's collation. A comparison with a column
// of another is refused by the server (468) and by no parser, so none is made.
// Seen red with: the resources joined to OPENJSON itself in book.sql.
func TestNothingIsComparedWithOpenJSON(t *testing.T) {
	found := 0
	for name, text := range statements {
		for statement := range strings.SplitSeq(text, ";") {
			if strings.Contains(statement, "OPENJSON(") {
				found++
				require.NotRegexp(t, `=|\b(JOIN|WHERE|EXISTS|IN)\b`, statement, name)
			}
		}
	}
	require.Equal(t, 3, found)
}

func TestParseTable(t *testing.T) {
	for in, want := range map[string]tableName{
		"Slots":           {"", "Slots"},
		"dbo.Slots":       {"dbo", "Slots"},
		"[a.b].[c]]d]":    {"a.b", "c]d"},
		`"a.b"."c""d"`:    {"a.b", `c"d`},
		"Meine Tabelle":   {"", "Meine Tabelle"},
		"dbo.[Meine.Tab]": {"dbo", "Meine.Tab"},
	} {
		got, err := parseTable(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
	for _, in := range []string{"", ".", "dbo.", "[dbo", "[a]b", "db.dbo.t", "[]", strings.Repeat("x", 129)} {
		_, err := parseTable(in)
		require.Error(t, err, in)
	}
}

func TestTriggerNamesFit(t *testing.T) {
	long := strings.Repeat("予", 128)
	name := triggerName("capacity", long)
	require.LessOrEqual(t, len([]rune(name)), 128)
	require.NotEqual(t, name, triggerName("capacity", strings.Repeat("予", 127)+"x"), "two tables, two names")
}

// A script that cannot carry a name is refused instead of being bent.
func TestGuardRefusesNames(t *testing.T) {
	for what, change := range map[string]func(*app.Guard){
		"a line break":      func(g *app.Guard) { g.SlotColumn = "x\nGO\nDROP TABLE y" },
		"a sqlcmd variable": func(g *app.Guard) { g.SlotColumn = "$(SQLCMDPASSWORD)" },
		"no slot column":    func(g *app.Guard) { g.SlotColumn = "" },
		"live without one":  func(g *app.Guard) { g.StatusColumn = "" },
		"another database":  func(g *app.Guard) { g.Slots = "other.dbo.Sessions" },
	} {
		spec := clinic
		change(&spec)
		_, err := GenerateGuard(spec)
		require.Error(t, err, what)
	}
}
