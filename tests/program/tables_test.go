package program

import (
	"database/sql"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	_ "github.com/microsoft/go-mssqldb" // to be the older program
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slotkeeper/tests/engines"
)

// clinicNames is the example of docs/sqlserver-dba.md.
const clinicNames = `{
  "slots": "dbo.Sessions", "slots_key": "Id", "slot_start": "StartsAt", "slot_end": "EndsAt", "capacity_column": "MaxPatients",
  "bookings": "dbo.Appointments", "bookings_key": "Id", "slot_column": "SlotId", "user_column": "PatientId",
  "status_column": "Status", "live": ["Booked", "CheckedIn"], "cancelled": "Cancelled",
  "zone": "W. Europe Standard Time"
}`

func namesFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tables.json")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// Seen red with: DisallowUnknownFields left out; validateTables left out of
// adapters.Validate; the flag given to import as well.
func TestServeTablesRefused(t *testing.T) {
	const server = "sqlserver://sa:" + secret + "@127.0.0.1:1?database=clinic"
	good := namesFile(t, clinicNames)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"sqlite":      {[]string{"serve", "--serve-tables", good}, "--serve-tables is for sqlserver alone: leave it out with sqlite"},
		"check":       {[]string{"check", "--serve-tables", good}, "--serve-tables is for sqlserver alone: leave it out with sqlite"},
		"postgres":    {[]string{"serve", "--db", "postgres://anna:" + secret + "@h/d", "--serve-tables", good}, "--serve-tables is for sqlserver alone: leave it out with postgres"},
		"import":      {[]string{"import", "--db", server, "--serve-tables", good}, "unknown flag --serve-tables"},
		"ranges":      {[]string{"serve", "--db", server, "--ranges", "nights", "--serve-tables", good}, "--ranges is for Slotkeeper's own tables: leave it out with --serve-tables"},
		"no file":     {[]string{"serve", "--db", server, "--serve-tables", "no.json"}, "--serve-tables: open no.json: no such file"},
		"no JSON":     {[]string{"serve", "--db", server, "--serve-tables", namesFile(t, "slots: dbo.Sessions")}, "is not the JSON object of names"},
		"unknown":     {[]string{"serve", "--db", server, "--serve-tables", namesFile(t, `{"slot": "dbo.Sessions"}`)}, `unknown field "slot"`},
		"two objects": {[]string{"serve", "--db", server, "--serve-tables", namesFile(t, clinicNames+"{}")}, "has something behind its JSON object"},
		"no names": {[]string{"serve", "--db", server, "--serve-tables", namesFile(t, `{"cancelled": "C"}`)},
			"slot_start must be named; slot_end must be named; bookings_key must be named; user_column must be named; " +
				"cancelled needs a status_column; bookings must be named; slot_column must be named; slots must be named; " +
				"slots_key must be named; capacity_column must be named"},
		"status alone": {[]string{"check", "--db", server, "--serve-tables", namesFile(t, `{"status_column": "Status"}`)}, "live a status column and its live values come together"},
		"away":         {[]string{"check", "--db", server, "--serve-tables", good}, "cannot reach sqlserver://sa:xxxxx@127.0.0.1:1?database=clinic"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, c.args...)
			assert.Equal(t, 2, r.code)
			assert.Contains(t, r.stderr, c.want)
			assert.Empty(t, r.stdout)
		})
	}
}

// The older program and the API share one truth: each sees what the other did,
// and the last place goes to one of them. Seen red with: Tables left out of what
// adapters.Open passes on.
func TestServeTables(t *testing.T) {
	dsn := engines.SQLServer(t)
	db, err := sql.Open("sqlserver", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for _, text := range []string{
		"CREATE TABLE dbo.Sessions (Id INT NOT NULL PRIMARY KEY, StartsAt DATETIME2(0) NOT NULL, EndsAt DATETIME2(0) NOT NULL, MaxPatients INT NOT NULL)",
		`CREATE TABLE dbo.Appointments (Id INT IDENTITY(1,1) NOT NULL PRIMARY KEY, SlotId INT NOT NULL REFERENCES dbo.Sessions (Id),
			PatientId NVARCHAR(64) NOT NULL, Status VARCHAR(10) NOT NULL DEFAULT 'Booked')`,
		"CREATE INDEX AppointmentsSlot ON dbo.Appointments (SlotId)",
		"INSERT INTO dbo.Sessions VALUES (7, '2090-07-01T09:00:00', '2090-07-01T09:20:00', 2)",
	} {
		_, err := db.ExecContext(t.Context(), text)
		require.NoError(t, err, text)
	}
	unguarded := "--allow-unguarded-locks" // one writer at a time here: no race is tested
	served := []string{"--serve-tables", namesFile(t, clinicNames), unguarded}
	r := run(t, append([]string{"check", "--db", dsn}, served...)...)
	assert.Equal(t, 2, r.code, "without the guard there is no promise to serve")
	assert.Contains(t, r.stderr, "the guard is not on")

	r = run(t, "guard", "--install", "--db", dsn, unguarded, "--bookings", "dbo.Appointments", "--slot-column", "SlotId", "--user-column", "PatientId",
		"--status-column", "Status", "--live", "Booked,CheckedIn", "--slots", "dbo.Sessions", "--slots-key", "Id", "--capacity-column", "MaxPatients")
	require.Equal(t, 0, r.code, r.stderr)
	s := serve(t, dsn, served...)
	assert.Equal(t, 200, s.get("/readyz").status)
	assert.Contains(t, s.get("/slots/7").body, `"starts_at":"2090-07-01T07:00:00Z"`, "nine o'clock there in summer")
	_, err = db.ExecContext(t.Context(), "INSERT INTO dbo.Appointments (SlotId, PatientId) VALUES (7, N'mika')")
	require.NoError(t, err)
	assert.Equal(t, "already-reserved", s.post("/slots/7/reservations", `{"user_id":"mika"}`).code())
	assert.Equal(t, 201, s.post("/slots/7/reservations", `{"user_id":"noor"}`).status)
	assert.Equal(t, "slot-full", s.post("/slots/7/reservations", `{"user_id":"zoe"}`).code())
	_, err = db.ExecContext(t.Context(), "INSERT INTO dbo.Appointments (SlotId, PatientId) VALUES (7, N'zoe')")
	require.ErrorContains(t, err, "slotkeeper/slot-full")
	assert.Equal(t, "not-supported", s.post("/slots", `{"starts_at":"2090-03-05T09:00:00Z","ends_at":"2090-03-05T09:30:00Z"}`).code())
	assert.Equal(t, "not-supported", s.post("/slots/7/reservations", `{"user_id":"zoe","hold_seconds":60}`).code())
	s.signal(syscall.SIGTERM)
	assert.Equal(t, 0, s.exitCode())
	r = run(t, append([]string{"check", "--db", dsn}, served...)...)
	assert.Equal(t, 0, r.code, r.stderr)
	var migrated int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM sys.tables WHERE name = 'goose_db_version'").Scan(&migrated))
	assert.Zero(t, migrated, "their database gets no tables of ours")
}
