package program

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"slotkeeper/tests/engines"
)

// Each outcome is counted where it is met, and none beside it.
func TestMetricsOfOutcomes(t *testing.T) {
	s := serve(t, newDB(t), "--sweep-interval", "50ms")
	slot, past := s.slot(fmt.Sprintf(future, 2)), s.slot(`{"starts_at":"2020-03-05T09:00:00Z","ends_at":"2020-03-05T09:30:00Z"}`)
	steps := []struct {
		outcome, method, path, body string
		status                      int
	}{
		{"reserved", "POST", slot + "/reservations", `{"user_id":"ada"}`, 201},
		{"held", "POST", slot + "/reservations", `{"user_id":"bo","hold_seconds":600}`, 201},
		{"already-reserved", "POST", slot + "/reservations", `{"user_id":"ada"}`, 409},
		{"slot-full", "POST", slot + "/reservations", `{"user_id":"cy"}`, 409},
		{"confirmed", "POST", slot + "/reservations/bo/confirm", "", 200},
		{"cancelled", "DELETE", slot + "/reservations/bo", "", 204},
		{"reservation-not-found", "DELETE", slot + "/reservations/bo", "", 404},
		{"slot-not-found", "POST", "/slots/999/reservations", `{"user_id":"ada"}`, 404},
		{"slot-started", "POST", past + "/reservations", `{"user_id":"ada"}`, 409},
		{"invalid", "POST", slot + "/reservations", `{"user_id":" "}`, 422},
	}
	for _, step := range steps {
		before := s.scrape()
		a := s.ask(step.method, step.path, step.body)
		require.Equal(t, step.status, a.status, a.body)
		after := s.scrape()
		for _, other := range steps {
			want := before.outcome(other.outcome)
			if other.outcome == step.outcome {
				want++
			}
			require.Equal(t, want, after.outcome(other.outcome), "%s after %s", other.outcome, step.outcome)
		}
	}
	require.Equal(t, 201, s.post(slot+"/reservations", `{"user_id":"di","hold_seconds":1}`).status)
	require.Zero(t, s.scrape().value("slotkeeper_swept_holds_total"))
	s.until("the hold is swept", func(p scraped) bool { return p.value("slotkeeper_swept_holds_total") == 1 })
	require.Equal(t, "hold-expired", s.post(slot+"/reservations/di/confirm", "").code())
	require.EqualValues(t, 1, s.scrape().outcome("hold-expired"))
}

// Another process has the file.
func TestMetricsOfALockedFile(t *testing.T) {
	dsn := newDB(t)
	s := serve(t, dsn, "--call-timeout", "400ms", "--sweep-interval", "0", "--check-interval", "0")
	slot := s.slot(fmt.Sprintf(future, 2))
	other, err := sql.Open("sqlite", strings.TrimPrefix(dsn, "sqlite:")+"?_txlock=immediate")
	require.NoError(t, err)
	defer other.Close()
	tx, err := other.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "busy", s.post(slot+"/reservations", `{"user_id":"ada"}`).code())
	page := s.scrape()
	require.EqualValues(t, 1, page.outcome("busy"))
	require.GreaterOrEqual(t, page.retries("lock-timeout"), 1.0)
	require.Greater(t, page.value("slotkeeper_lock_wait_seconds_sum"), 0.3)
	require.NoError(t, tx.Rollback())
	require.Equal(t, 201, s.post(slot+"/reservations", `{"user_id":"ada"}`).status)
}

// Rows that came past the guard are counted, and no longer once they are gone.
// Seen red with: SetOverbooked taken out of jobs.go.
func TestMetricsOfOverbooking(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		db := newDB(t)
		s := serve(t, db, "--check-interval", "50ms")
		slot := s.slot(fmt.Sprintf(future, 1))
		require.Equal(t, 201, s.post(slot+"/reservations", `{"user_id":"ada"}`).status)
		counted := s.scrape().value("slotkeeper_check_timestamp_seconds")
		s.until("it was counted again", func(p scraped) bool { return p.value("slotkeeper_check_timestamp_seconds") > counted })
		require.Zero(t, s.scrape().value("slotkeeper_overbooked_slots"))
		smuggle(t, db, 1)
		s.until("it is seen", func(p scraped) bool { return p.value("slotkeeper_overbooked_slots") == 1 })
	})
	t.Run("postgres", func(t *testing.T) {
		p := beside(t)
		s := serve(t, p.dsn, "--check-interval", "50ms")
		slot := s.slot(fmt.Sprintf(future, 1))
		require.Equal(t, 201, s.post(slot+"/reservations", `{"user_id":"ada"}`).status)
		p.run("ALTER TABLE slots DROP CONSTRAINT slots_capacity")
		p.run("INSERT INTO reservations (slot_id, user_id) VALUES (1, 'smuggled')")
		s.until("it is seen", func(p scraped) bool { return p.value("slotkeeper_overbooked_slots") == 1 })
		p.run("DELETE FROM reservations WHERE user_id = 'smuggled'")
		s.until("it is gone", func(p scraped) bool { return p.value("slotkeeper_overbooked_slots") == 0 })
	})
}

// Another program holds a slot; requests gather before it. Seen red with:
// LockWaited taken out of postgres.Store.look; Retried(ReasonLocked) out of
// app.combiner.answer.
func TestMetricsOfAHeldSlot(t *testing.T) {
	const hold, crowd = 200 * time.Millisecond, 5
	p := beside(t)
	s := serve(t, p.dsn, "--sweep-interval", "0")
	slot := s.slot(fmt.Sprintf(future, 100))
	require.Equal(t, 201, s.post(slot+"/reservations", `{"user_id":"first"}`).status)
	before := s.scrape()
	require.Less(t, before.value("slotkeeper_lock_wait_seconds_sum"), hold.Seconds(), "nobody was in the way")
	release := p.lock(1)
	waiting := []<-chan answer{s.later("POST", slot+"/reservations", `{"user_id":"second"}`)}
	s.until("it is found locked", func(m scraped) bool { return m.retries("locked") == 1 })
	p.untilBlocked(1)
	for i := range crowd {
		waiting = append(waiting, s.later("POST", slot+"/reservations", fmt.Sprintf(`{"user_id":"crowd%d"}`, i)))
	}
	s.until("all wait", func(m scraped) bool { return m.value("slotkeeper_queue_length") == crowd+1 })
	time.Sleep(hold) // what is measured is time
	release()
	requireStatus(t, 201, waiting...)
	after := s.until("nobody waits", func(m scraped) bool { return m.value("slotkeeper_queue_length") == 0 })
	moved := func(name string) float64 { return after.value(name) - before.value(name) }
	require.EqualValues(t, crowd+1, moved("slotkeeper_lock_wait_seconds_count"))
	require.Greater(t, moved("slotkeeper_lock_wait_seconds_sum"), (crowd+1)*hold.Seconds())
	require.EqualValues(t, 3, moved("slotkeeper_batch_size_count"), "the second, again aside, and the crowd")
	require.EqualValues(t, 1+1+crowd, moved("slotkeeper_batch_size_sum"))
	require.EqualValues(t, crowd+2, after.outcome("reserved"))
}

// Each reason is counted under its name; tests/faults has unknown-outcome.
func TestMetricsOfRetries(t *testing.T) {
	p := beside(t)
	p.run("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''20ms''', current_database()); END $$")
	one := serve(t, p.dsn, "--no-combine", "--call-timeout", "2s", "--sweep-interval", "0")
	for range 2 {
		one.slot(fmt.Sprintf(future, 100))
	}
	strict := serve(t, p.dsn, "--no-combine", "--strategy", "serializable", "--sweep-interval", "0")
	ask := func(s *server, user string) <-chan answer {
		return s.later("POST", "/slots/1/reservations", fmt.Sprintf(`{"user_id":%q}`, user))
	}
	// only sees that the counters of s moved by one kind alone.
	only := func(s *server, before scraped, reason string) {
		t.Helper()
		after := s.scrape()
		for _, other := range []string{"serialization", "deadlock", "lock-timeout", "locked", "connection", "unknown-outcome", "other"} {
			if moved := after.retries(other) - before.retries(other); other == reason {
				require.Positive(t, moved, other)
			} else {
				require.Zero(t, moved, other)
			}
		}
	}
	t.Run("lock-timeout", func(t *testing.T) {
		before := one.scrape()
		release := p.lock(1)
		answer := ask(one, "timeout")
		one.until("the lock is given up", func(m scraped) bool { return m.retries("lock-timeout") > 0 })
		release()
		requireStatus(t, 201, answer)
		only(one, before, "lock-timeout")
		require.Greater(t, one.scrape().value("slotkeeper_lock_wait_seconds_sum"), 0.9, "half of the call's time")
	})
	t.Run("connection", func(t *testing.T) {
		before := one.scrape()
		release := p.lock(1)
		answer := ask(one, "cut")
		p.untilBlocked(1)
		p.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
		one.until("it asks again", func(m scraped) bool { return m.retries("connection") > 0 })
		release()
		requireStatus(t, 201, answer)
		only(one, before, "connection")
	})
	t.Run("deadlock", func(t *testing.T) {
		before := one.scrape()
		tx := p.begin("SET LOCAL deadlock_timeout = '1min'", // the server's look at ours comes first
			"INSERT INTO reservations (slot_id, user_id) VALUES (2, 'other')")
		answer := one.later("POST", "/reservations", `{"user_id":"both","slot_ids":[1,2]}`)
		p.untilBlocked(1)
		_, err := tx.Exec(t.Context(), "INSERT INTO reservations (slot_id, user_id) VALUES (1, 'other')")
		require.NoError(t, err)
		require.NoError(t, tx.Commit(t.Context()))
		requireStatus(t, 201, answer)
		only(one, before, "deadlock")
	})
	t.Run("serialization", func(t *testing.T) {
		before := strict.scrape()
		tx := p.begin("INSERT INTO reservations (slot_id, user_id) VALUES (1, 'another')")
		answer := ask(strict, "strict")
		p.untilBlocked(1)
		require.NoError(t, tx.Commit(t.Context()))
		requireStatus(t, 201, answer)
		only(strict, before, "serialization")
	})
}

// A database that lets nobody in is unavailable, neither busy nor a bug. Seen
// red with: SQLSTATE 55000 of a refused connection unknown to postgres.meaningOf.
func TestMetricsOfADatabaseAway(t *testing.T) {
	p := beside(t)
	s := serve(t, p.dsn, "--sweep-interval", "0", "--check-interval", "0")
	slot := s.slot(fmt.Sprintf(future, 2))
	p.closeDatabase()
	a := s.post(slot+"/reservations", `{"user_id":"ada"}`)
	require.Equal(t, "database-unavailable", a.code(), "%s\n%s", a.body, s.logged())
	page := s.scrape()
	require.EqualValues(t, 1, page.outcome("unavailable"))
	require.Zero(t, page.outcome("busy"))
	require.Positive(t, page.value("slotkeeper_refusals_total", "code", "database-unavailable"))
}

// otherProgram is another program on the server's database.
type otherProgram struct {
	t    *testing.T
	dsn  string
	conn *pgx.Conn
}

func beside(t *testing.T) *otherProgram {
	t.Helper()
	p := &otherProgram{t: t, dsn: engines.Postgres(t)}
	p.conn = p.connect()
	return p
}

func (p *otherProgram) connect() *pgx.Conn {
	p.t.Helper()
	conn, err := pgx.Connect(p.t.Context(), p.dsn)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func (p *otherProgram) run(sql string) {
	p.t.Helper()
	_, err := p.conn.Exec(p.t.Context(), sql)
	require.NoError(p.t, err)
}

// closeDatabase lets nobody in and ends who is in.
func (p *otherProgram) closeDatabase() {
	p.t.Helper()
	address, err := url.Parse(p.dsn)
	require.NoError(p.t, err)
	name := strings.TrimPrefix(address.Path, "/")
	address.Path = "/postgres"
	conn, err := pgx.Connect(p.t.Context(), address.String())
	require.NoError(p.t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(p.t.Context(), "ALTER DATABASE "+pgx.Identifier{name}.Sanitize()+" ALLOW_CONNECTIONS false")
	require.NoError(p.t, err)
	_, err = conn.Exec(p.t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
	require.NoError(p.t, err)
}

// begin runs statements in a transaction that stays open.
func (p *otherProgram) begin(statements ...string) pgx.Tx {
	p.t.Helper()
	tx, err := p.connect().Begin(p.t.Context())
	require.NoError(p.t, err)
	for _, statement := range statements {
		_, err = tx.Exec(p.t.Context(), statement)
		require.NoError(p.t, err)
	}
	return tx
}

// lock holds a slot's row until release.
func (p *otherProgram) lock(slot int) (release func()) {
	p.t.Helper()
	tx := p.begin(fmt.Sprintf("SELECT FROM slots WHERE id = %d FOR UPDATE", slot))
	return func() { require.NoError(p.t, tx.Rollback(context.Background())) }
}

// untilBlocked waits until n sessions wait for a lock: the server's own state
// has no event.
func (p *otherProgram) untilBlocked(n int) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		var blocked int
		err := p.conn.QueryRow(p.t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&blocked)
		return err == nil && blocked == n
	}, patience, 2*time.Millisecond)
}
