package program

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// summary is what import --json prints.
type summary struct {
	Slots, Reservations struct {
		Rows  int
		Codes map[string]int
	}
	Notes    []string
	Complete bool
	Rejects  string
}

func summaryOf(t *testing.T, text string) summary {
	t.Helper()
	var s summary
	require.NoError(t, json.Unmarshal([]byte(text), &s), text)
	return s
}

func TestImport(t *testing.T) {
	db := newDB(t)
	args := []string{"import", "--db", db, "--slots", data(t, "slots.csv"), "--reservations", data(t, "requests.csv"), "--json"}
	cmd := command(t, nil, args...)
	r := finish(t, cmd)
	require.Equal(t, 0, r.code, r.stderr)
	got := summaryOf(t, r.stdout)
	assert.True(t, got.Complete)
	assert.Equal(t, map[string]int{"created": 6}, got.Slots.Codes)
	assert.Equal(t, 27, got.Reservations.Rows)
	assert.Equal(t, map[string]int{"reserved": 12, "slot-full": 12, "already-reserved": 2, "slot-not-found": 1}, got.Reservations.Codes)

	// Each row that was not taken over is among the rejects, in file order.
	require.Equal(t, "requests.rejects.csv", got.Rejects)
	rejects := readCSV(t, filepath.Join(cmd.Dir, got.Rejects))
	require.Len(t, rejects, 1+15)
	assert.Equal(t, []string{"file", "line", "column", "field", "code", "detail", "row"}, rejects[0])
	assert.Equal(t, []string{data(t, "requests.csv"), "3", "1", "", "slot-full", "no place is left in this slot",
		"2045-11-01T02:15:00+01:00,v1,noor"}, rejects[1])
	assert.Equal(t, "slot-not-found", rejects[15][4])

	// The same again adds nothing and spoils no file of before.
	again := command(t, nil, args...)
	again.Dir = cmd.Dir
	r = finish(t, again)
	require.Equal(t, 0, r.code, r.stderr)
	got = summaryOf(t, r.stdout)
	assert.Equal(t, map[string]int{"already-imported": 6}, got.Slots.Codes)
	assert.Equal(t, map[string]int{"slot-full": 12, "already-reserved": 14, "slot-not-found": 1}, got.Reservations.Codes)
	assert.Equal(t, "requests.rejects-2.csv", got.Rejects)
	assert.Len(t, readCSV(t, filepath.Join(cmd.Dir, "requests.rejects.csv")), 16)

	r = run(t, "check", "--db", db)
	assert.Equal(t, 0, r.code)
	s := serve(t, db)
	list := s.get("/slots?limit=500").body
	assert.Equal(t, 6, strings.Count(list, `"id":`))
	for i := 1; i <= 3; i++ {
		assert.Equal(t, 2, strings.Count(list, fmt.Sprintf(`"capacity":%d,"reserved":%d,"available":0`, i, i)))
	}
	assert.Contains(t, s.get("/slots/1/reservations").body, `"user_id":"mika","status":"confirmed","created_at":"2045-11-01T00:15:00Z"`)
	assert.Contains(t, s.get("/resources").body, "Room 2, north")
}

func readCSV(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	return rows
}

// Broken rows stop nothing, are named with line and column, and show in the
// exit code.
func TestImportBrokenRows(t *testing.T) {
	file := data(t, "broken.csv")
	rejects := filepath.Join(t.TempDir(), "r.csv")
	r := run(t, "import", "--db", newDB(t), "--slots", file, "--rejects", rejects)
	assert.Equal(t, 1, r.code)
	for _, want := range []string{
		file + ":3:4: starts_at: must be a time with an offset",
		file + ":4:56: capacity: must be an integer from 1 to 1000000",
		file + ":5:30: ends_at: must be later than starts_at",
		file + ":6:1: the row has 2 fields where the header has 4",
	} {
		assert.Contains(t, r.stderr, want)
	}
	assert.Contains(t, r.stdout, "slots:        5 rows: 1 created, 4 broken-row\n")
	assert.Contains(t, r.stdout, "rejects:      4 rows in "+rejects+"\n")
	assert.Len(t, readCSV(t, rejects), 5)
}

func TestImportSmart(t *testing.T) {
	db := newDB(t)
	r := run(t, "import", "--db", db, "--format", "smart", "--slots", data(t, "slots.ndjson"), "--json")
	require.Equal(t, 0, r.code, r.stderr)
	got := summaryOf(t, r.stdout)
	assert.Equal(t, map[string]int{"created": 3, "not-free": 1}, got.Slots.Codes)
	assert.Equal(t, []string{"free slots of Schedule/b overlap: they are imported without a resource"}, got.Notes)
	list := serve(t, db).get("/slots").body
	assert.Contains(t, list, `"resource":"Schedule/a","starts_at":"2046-03-08T08:00:00Z","ends_at":"2046-03-08T12:00:00Z","capacity":40`)
	assert.NotContains(t, list, "Schedule/b")
}

// A header that is not understood imports nothing, and the rejects never
// overwrite the input.
func TestImportRefusesFiles(t *testing.T) {
	slots := data(t, "slots.csv")
	r := run(t, "import", "--db", newDB(t), "--slots", data(t, "requests.csv"))
	assert.Equal(t, 2, r.code)
	assert.Contains(t, r.stderr, `column "requested_at" is not known: remove it; the columns are ref, starts_at, ends_at, capacity, resource`)
	r = run(t, "import", "--db", newDB(t), "--slots", slots, "--rejects", slots)
	assert.Equal(t, 2, r.code)
	assert.Contains(t, r.stderr, "--rejects is the input "+slots+" itself: name another file")
	r = run(t, "import", "--db", newDB(t), "--slots", slots, "--rejects", filepath.Join(t.TempDir(), "no", "r.csv"))
	assert.Equal(t, 2, r.code)
	assert.Contains(t, r.stderr, "cannot write the rejects")
}

// An interrupted import says how far it came, and goes on when it is started
// again: in the end it is as if it had never stopped.
func TestImportInterrupted(t *testing.T) {
	dir := t.TempDir()
	const people = 60_000
	var text strings.Builder
	text.WriteString("slot_ref,user_id\n")
	for i := range people {
		fmt.Fprintf(&text, "v%d,p%05d\n", 1+i%6, i)
	}
	asks := filepath.Join(dir, "asks.csv")
	require.NoError(t, os.WriteFile(asks, []byte(text.String()), 0o600))
	db := newDB(t)
	rejects := filepath.Join(dir, "rejects.csv")
	args := []string{"import", "--db", db, "--slots", data(t, "slots.csv"), "--reservations", asks, "--rejects", rejects, "--json"}
	cmd := command(t, nil, args...)
	wait := start(t, cmd)
	require.Eventually(t, func() bool { // until it is at work
		info, err := os.Stat(rejects)
		return err == nil && info.Size() > 0
	}, patience, time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	r := wait()
	require.Equal(t, 1, r.code, r.stderr)
	assert.Regexp(t, "stopped before .*asks.csv:[0-9]+: .*start it again with the same files to go on, nothing is added twice", r.stderr)
	first := summaryOf(t, r.stdout)
	assert.False(t, first.Complete)
	assert.Positive(t, first.Reservations.Rows)
	assert.Less(t, first.Reservations.Rows, people)
	assert.Zero(t, first.Reservations.Rows%500, "between two batches")
	assert.Contains(t, r.stderr, fmt.Sprintf("asks.csv:%d:", first.Reservations.Rows+2))

	r = run(t, args...)
	require.Equal(t, 0, r.code, r.stderr)
	second := summaryOf(t, r.stdout)
	assert.Equal(t, 12, first.Reservations.Codes["reserved"]+second.Reservations.Codes["reserved"])
	assert.Equal(t, people, second.Reservations.Rows)
}
