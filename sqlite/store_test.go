package sqlite_test

import (
	"database/sql"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
	"slotkeeper/sqlite"
	"slotkeeper/tests/conformance"
	"slotkeeper/tests/engines"
)

func TestMain(m *testing.M) { os.Exit(engines.Main(m)) }

func TestStore(t *testing.T) {
	conformance.Run(t,
		func(t *testing.T) app.Store { return open(t, migrated(t), 8) },
		conformance.Options{
			OpenSmall: func(t *testing.T) app.Store { return open(t, migrated(t), 4) },
			Reopen:    func(t *testing.T, db app.Store) app.Store { return open(t, db.(opened).path, 4) },
			Foreign:   func(t *testing.T, db app.Store) conformance.Foreign { return foreigner{pool(t, db.(opened).path)} },
		})
}

// opened is a store that remembers its file.
type opened struct {
	*sqlite.Store
	path string
}

func open(t *testing.T, path string, readers int) app.Store {
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Readers: readers})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return opened{s, path}
}

// migrated is the path of a new file with the current schema.
func migrated(t *testing.T) string {
	path := strings.TrimPrefix(engines.SQLite(t), "sqlite:")
	p, end, err := sqlite.Migrations(t.Context(), path)
	require.NoError(t, err)
	defer end()
	_, err = p.Up(t.Context())
	require.NoError(t, err)
	return path
}

// pool is another program's connections: it waits for the file's lock, and has
// foreign keys off, as SQLite comes.
func pool(t *testing.T, path string) *sql.DB {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	require.NoError(t, err)
	db.SetMaxOpenConns(16)
	t.Cleanup(func() { db.Close() })
	return db
}

// foreigner is an older program: plain statements, no locks beforehand, no idea
// of holds. It has no HoldSlotLock: SQLite locks the file.
type foreigner struct{ db *sql.DB }

func (f foreigner) exec(query string, args ...any) error {
	_, err := f.db.Exec(query, args...)
	return err
}

func (f foreigner) InsertReservation(slotID int64, user string) error {
	return f.exec("INSERT INTO reservations (slot_id, user_id) VALUES (?, ?)", slotID, user)
}

func (f foreigner) InsertReservations(rows []app.Place) error {
	args := []any{}
	for _, r := range rows {
		args = append(args, r.SlotID, r.UserID)
	}
	return f.exec("INSERT INTO reservations (slot_id, user_id) VALUES (?, ?)"+strings.Repeat(", (?, ?)", len(rows)-1), args...)
}

func (f foreigner) MoveReservation(user string, from, to int64) error {
	return f.exec("UPDATE reservations SET slot_id = ? WHERE slot_id = ? AND user_id = ?", to, from, user)
}

func (f foreigner) DeleteReservation(slotID int64, user string) error {
	return f.exec("DELETE FROM reservations WHERE slot_id = ? AND user_id = ?", slotID, user)
}

func (f foreigner) SetCapacity(slotID int64, capacity int) error {
	return f.exec("UPDATE slots SET capacity = ? WHERE id = ?", capacity, slotID)
}

func (f foreigner) InsertSlot(resource string, from, to time.Time) error {
	return f.exec(`INSERT INTO slots (resource_id, starts_at, ends_at, capacity)
		SELECT id, ?, ?, 1 FROM resources WHERE key = ?`, from.UnixMicro(), to.UnixMicro(), resource)
}

func (f foreigner) InsertBooking(resource, user string, from, to time.Time) error {
	return f.exec(`INSERT INTO bookings (place_id, user_id, starts_at, ends_at)
		SELECT id, ?, ?, ? FROM resources WHERE key = ?`, user, from.UnixMicro(), to.UnixMicro(), resource)
}

func (f foreigner) LiveCount(slotID int64) (n int, err error) {
	err = f.db.QueryRow(`SELECT count(*) FROM reservations WHERE slot_id = ?
		AND (status = 'confirmed' OR status = 'held' AND expires_at > unixepoch('subsec') * 1000000)`, slotID).Scan(&n)
	return n, err
}

func (f foreigner) Overlaps() (n int, err error) {
	err = f.db.QueryRow(`WITH claims AS (
			SELECT resource_id, 'booking' AS what, id, starts_at, ends_at FROM bookings
			WHERE status = 'confirmed' OR status = 'held' AND expires_at > unixepoch('subsec') * 1000000
			UNION ALL
			SELECT resource_id, 'slot', id, starts_at, ends_at FROM slots WHERE resource_id IS NOT NULL
		)
		SELECT count(*) FROM claims a JOIN claims b
		ON a.resource_id = b.resource_id AND (a.what, a.id) < (b.what, b.id)
		AND a.starts_at < b.ends_at AND b.starts_at < a.ends_at`).Scan(&n)
	return n, err
}

// TestForeignConflictClauses: the conflict clause of an outer statement also
// rules the statements of its triggers, so a CHECK alone would let a full slot
// take an INSERT OR IGNORE, and OR REPLACE would delete a row uncounted.
// Seen red with: the 'slot-full' RAISE taken out of reservations_judge_insert
// (OR IGNORE wrote the row and skipped the count), and with the
// 'already-reserved' and 'id-taken' ones (OR REPLACE left the counter high), and
// without each of reservations_judge_id, reservations_judge_new_id (the place was
// lost) and slots_judge_names (a slot with a live row counted none).
func TestForeignConflictClauses(t *testing.T) {
	db := open(t, migrated(t), 4)
	f := foreigner{pool(t, db.(opened).path)}
	start := time.Date(2090, 1, 1, 9, 0, 0, 0, time.UTC)
	slot, _, err := db.CreateSlot(t.Context(), app.NewSlot{StartsAt: start, EndsAt: start.Add(time.Hour), Capacity: 2})
	require.NoError(t, err)
	first, err := db.Reserve(t.Context(), app.NewReservation{SlotID: slot.ID, UserID: "alice"})
	require.NoError(t, err)

	require.Error(t, f.exec("INSERT OR REPLACE INTO reservations (slot_id, user_id) VALUES (?, 'alice')", slot.ID))
	require.Error(t, f.exec("INSERT OR REPLACE INTO reservations (id, slot_id, user_id) VALUES (?, ?, 'bob')", first.ID, slot.ID))
	require.Error(t, f.exec("INSERT OR REPLACE INTO reservations (id, slot_id, user_id, status) VALUES (?, ?, 'bob', 'cancelled')", first.ID, slot.ID))
	require.Error(t, f.exec("REPLACE INTO slots (id, starts_at, ends_at, capacity) VALUES (?, 1, 2, 9)", slot.ID))
	require.NoError(t, f.InsertReservation(slot.ID, "bob"))
	for _, verb := range []string{"INSERT OR IGNORE", "INSERT OR REPLACE", "INSERT OR FAIL", "INSERT OR ABORT"} {
		require.Error(t, f.exec(verb+" INTO reservations (slot_id, user_id) VALUES (?, 'carol')", slot.ID), verb)
	}
	require.NoError(t, f.exec("INSERT INTO reservations (slot_id, user_id, status) VALUES (?, 'dora', 'cancelled')", slot.ID))
	require.ErrorContains(t, f.exec("UPDATE OR REPLACE reservations SET id = ? WHERE user_id = 'dora'", first.ID), "id-taken")
	require.NoError(t, f.exec("INSERT INTO slots (id, ref, starts_at, ends_at, capacity) VALUES (998, 'other', 1, 2, 1)"))
	require.NoError(t, f.exec("UPDATE slots SET ref = 'mine' WHERE id = ?", slot.ID))
	require.ErrorContains(t, f.exec("UPDATE OR REPLACE slots SET ref = 'mine' WHERE id = 998"), "id-taken")
	require.ErrorContains(t, f.exec("UPDATE OR REPLACE slots SET id = ? WHERE id = 998", slot.ID), "id-taken")
	require.ErrorContains(t, f.exec("UPDATE slots SET id = 997 WHERE id = ?", slot.ID), "slot-has-reservations")
	require.Error(t, f.exec("UPDATE OR IGNORE reservations SET slot_id = 999 WHERE user_id = 'bob'"))
	require.Error(t, f.exec("DELETE FROM slots WHERE id = ?", slot.ID), "foreign keys are off on this connection")
	n, err := f.LiveCount(slot.ID)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	faults, err := db.Check(t.Context())
	require.NoError(t, err)
	require.Empty(t, faults)
}
