package sqlserver_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
	"slotkeeper/sqlserver"
	"slotkeeper/tests/conformance"
)

func TestStore(t *testing.T) {
	d := &databases{parent: t, free: []string{migrated(t)}} // without a server this skips, rather than each subtest
	conformance.Run(t, d.open, conformance.Options{Foreign: foreign, Reopen: reopen, OpenSmall: d.openSmall})
}

// databases hands each subtest a migrated database without a row. Creating one
// takes a second on a quick server and ten on a slow one, so they are emptied
// and used again; ids go on where they were.
type databases struct {
	parent  *testing.T
	mu      sync.Mutex
	free    []string
	checked bool
	ignored error // what LockCheck found
}

func (d *databases) open(t *testing.T) app.Store {
	return openWith(t, d.take(t), sqlserver.Options{PoolSize: 16})
}

func (d *databases) openSmall(t *testing.T) app.Store {
	return openWith(t, d.take(t), sqlserver.Options{PoolSize: 4})
}

func (d *databases) take(t *testing.T) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.free); n > 0 {
		dsn := d.free[n-1]
		d.free = d.free[:n-1]
		d.backAfter(t, dsn)
		d.skipRace(t, dsn)
		return dsn
	}
	dsn := migrated(lasting{t, d.parent})
	d.backAfter(t, dsn)
	d.skipRace(t, dsn)
	return dsn
}

// lasting is a subtest whose database is dropped at its parent's end. Failing or
// skipping is the subtest's own: from there the parent must not be ended.
type lasting struct {
	*testing.T
	parent *testing.T
}

// Cleanup leaves f to the parent.
func (l lasting) Cleanup(f func()) { l.parent.Cleanup(f) }

// skipRace skips, loudly, what only a server that keeps its locks can pass; it
// must be called with the mutex held. open is called by each subtest itself, so
// its name says what it is.
func (d *databases) skipRace(t *testing.T, dsn string) {
	t.Helper()
	if !d.checked {
		d.ignored, d.checked = sqlserver.LockCheck(t.Context(), pool(t, dsn)), true
	}
	if races.MatchString(t.Name()) && errors.Is(d.ignored, sqlserver.ErrLocksIgnored) {
		t.Skipf("NOT TESTED: THIS SERVER IGNORES LOCK HINTS, so simultaneous writers can overbook on it; only a real SQL Server shows this race: %v", d.ignored)
	}
}

// races are the subtests with simultaneous writers. Named one by one outside of
// their group: "frees the place at once" is none.
var races = regexp.MustCompile(`/races/|by_two_at_once|64_of_both_at_once|both_cancel_and_move_at_once|opposite_orders`)

// backAfter is registered before the store's own clean-up, and so runs after it.
func (d *databases) backAfter(t *testing.T, dsn string) {
	t.Cleanup(func() {
		db, err := sql.Open("sqlserver", dsn)
		require.NoError(t, err)
		defer db.Close()
		for _, table := range []string{"nights", "bookings", "reservations", "slots", "resources"} {
			if _, err := db.Exec("DELETE FROM " + table); err != nil {
				t.Logf("this database is not used again: %v", err)
				return
			}
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.free = append(d.free, dsn)
	})
}

func foreign(t *testing.T, db app.Store) conformance.Foreign {
	return foreigner{pool(t, db.(opened).dsn)}
}

// foreigner is an older program: plain statements, no locks beforehand, no idea
// of holds.
type foreigner struct{ db *sql.DB }

var _ conformance.SlotLocker = foreigner{}

func (f foreigner) exec(text string, values ...any) error {
	_, err := f.db.ExecContext(context.Background(), text, values...)
	return err
}

func (f foreigner) InsertReservation(slotID int64, user string) error {
	return f.exec("INSERT INTO reservations (slot_id, user_id) VALUES (@p1, @p2)", slotID, user)
}

func (f foreigner) InsertReservations(rows []app.Place) error {
	text, values := "INSERT INTO reservations (slot_id, user_id) VALUES ", []any{}
	for i, r := range rows {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("(@p%d, @p%d)", 2*i+1, 2*i+2)
		values = append(values, r.SlotID, r.UserID)
	}
	return f.exec(text, values...)
}

func (f foreigner) MoveReservation(user string, from, to int64) error {
	return f.exec("UPDATE reservations SET slot_id = @p1 WHERE slot_id = @p2 AND user_id = @p3", to, from, user)
}

func (f foreigner) DeleteReservation(slotID int64, user string) error {
	return f.exec("DELETE FROM reservations WHERE slot_id = @p1 AND user_id = @p2", slotID, user)
}

func (f foreigner) SetCapacity(slotID int64, capacity int) error {
	return f.exec("UPDATE slots SET capacity = @p1 WHERE id = @p2", capacity, slotID)
}

func (f foreigner) InsertSlot(resource string, from, to time.Time) error {
	return f.exec(`INSERT INTO slots (resource_id, starts_at, ends_at, capacity)
		SELECT id, @p1, @p2, 1 FROM resources WHERE [key] = @p3`, from, to, resource)
}

func (f foreigner) InsertBooking(resource, user string, from, to time.Time) error {
	return f.exec(`INSERT INTO bookings (place_id, user_id, starts_at, ends_at)
		SELECT id, @p1, @p2, @p3 FROM resources WHERE [key] = @p4`, user, from, to, resource)
}

func (f foreigner) LiveCount(slotID int64) (n int, err error) {
	err = f.db.QueryRow(`SELECT COUNT(*) FROM reservations WHERE slot_id = @p1
		AND (status = 'confirmed' OR status = 'held' AND expires_at > SYSDATETIMEOFFSET())`, slotID).Scan(&n)
	return n, err
}

func (f foreigner) Overlaps() (n int, err error) {
	err = f.db.QueryRow(`WITH claims AS (
			SELECT resource_id, 'booking' AS what, id, starts_at, ends_at FROM bookings
			WHERE status = 'confirmed' OR status = 'held' AND expires_at > SYSDATETIMEOFFSET()
			UNION ALL SELECT resource_id, 'slot', id, starts_at, ends_at FROM slots WHERE resource_id IS NOT NULL)
		SELECT COUNT(*) FROM claims AS a INNER JOIN claims AS b ON a.resource_id = b.resource_id
			AND a.starts_at < b.ends_at AND b.starts_at < a.ends_at AND (a.what < b.what OR a.what = b.what AND a.id < b.id)`).Scan(&n)
	return n, err
}

func (f foreigner) HoldSlotLock(slotID int64) (release func() error, err error) {
	tx, err := f.db.Begin()
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec("UPDATE slots SET capacity = capacity WHERE id = @p1", slotID); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx.Rollback, nil
}
