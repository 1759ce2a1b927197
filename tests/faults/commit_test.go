package faults

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

// TestCommits breaks connections around a COMMIT; all on one database.
func TestCommits(t *testing.T) {
	c := newCity(t)
	for name, test := range map[string]func(*testing.T, *city){
		"A connection cut at the commit of":        aConnectionCutAtTheCommitOf,
		"A lost answer is found again":             aLostAnswerIsFoundAgain,
		"A batch whose commit is cut":              aBatchWhoseCommitIsCut,
		"Someone else comes while a commit is cut": someoneElseComesWhileACommitIsCut,
		"The server stays away after a cut":        theServerStaysAwayAfterACut,
		"Every commit is cut":                      everyCommitIsCut,
	} {
		t.Run(name, func(t *testing.T) { test(t, c.in(t)) })
	}
}

// ways are the sides of a commit on which a connection may break.
func (c *city) ways(t *testing.T, f func(t *testing.T, c *city, r replica, where side)) {
	c.bothWays(t, app.Config{}, func(t *testing.T, c *city, r replica) {
		for name, where := range sides() {
			t.Run(name, func(t *testing.T) { f(t, c.in(t), r, where) })
		}
	})
}

func sides() map[string]side {
	return map[string]side{"commit lost": statementLost, "answer lost": answerLost, "answer torn": answerTorn}
}

// Seen red with: postgres.Store.commit returning the error of a connection that
// broke behind COMMIT's answer (it reached the client as it was);
// postgres.afterCommit returning translate(err) (the client got
// ErrUnavailable); in app.alone, the case of ErrAlreadyReserved taken out, and
// that of ErrReservationNotFound (a refusal of what was done).
func aConnectionCutAtTheCommitOf(t *testing.T, c *city) {
	c.ways(t, func(t *testing.T, c *city, r replica, where side) {
		slot := c.slot(3)
		for _, step := range []struct {
			name          string
			before, after string // whose rows there are, and their state
			run           func() error
		}{
			{"reserve", "", "alice confirmed", func() error { return reserve(r, slot, "alice") }},
			{"cancel", "alice confirmed", "", func() error { return r.Cancel(t.Context(), slot, "alice") }},
			{"hold", "", "alice held", func() error {
				_, err := r.Reserve(t.Context(), app.NewReservation{SlotID: slot, UserID: "alice", Hold: time.Hour})
				return err
			}},
			{"confirm", "alice held", "alice confirmed", func() error {
				got, err := r.Confirm(t.Context(), slot, "alice")
				require.Equal(t, app.Confirmed, got.Status)
				return err
			}},
		} {
			written := step.before
			if where != statementLost {
				written = step.after
			}
			order := c.proxy.cutAt(&cut{statement: isCommit, where: where, meanwhile: func() {
				require.Equal(t, written, c.states(slot), "%s: at the cut", step.name)
			}})
			require.NoError(t, step.run(), step.name)
			<-order.made
			require.Equal(t, step.after, c.states(slot), step.name)
		}
		if where == answerTorn { // the client knows enough
			require.Zero(t, r.seen.retried.Swap(0))
		} else {
			require.EqualValues(t, 4, r.seen.retried.Swap(0))
			require.EqualValues(t, 4, r.seen.unknown.Swap(0), "by their reason")
		}
		c.sound(r)
	})
}

// states has the live rows of a slot: who, and how.
func (c *city) states(slotID int64) string {
	c.t.Helper()
	var all string
	require.NoError(c.t, c.direct.QueryRow(context.Background(),
		`SELECT coalesce(string_agg(user_id || ' ' || status, ', ' ORDER BY id), '') FROM reservations
		 WHERE slot_id = $1 AND status IN ('held', 'confirmed')`, slotID).Scan(&all))
	return all
}

// The one that answers is the row that was written, not a second one.
// Seen red with: app.alone's case of ErrAlreadyReserved returning r (id 0).
func aLostAnswerIsFoundAgain(t *testing.T, c *city) {
	c.bothWays(t, app.Config{}, func(t *testing.T, c *city, r replica) {
		slot := c.slot(2)
		for range 3 { // the answers of three commits of one request
			c.proxy.cutAt(&cut{statement: isCommit, where: answerLost})
		}
		got, err := r.Reserve(t.Context(), app.NewReservation{SlotID: slot, UserID: "alice"})
		require.NoError(t, err)
		require.EqualValues(t, c.number("SELECT id FROM reservations WHERE slot_id = $1", slot), got.ID)
		require.Equal(t, "alice", got.UserID)
		require.Equal(t, 2, c.proxy.recall(), "nothing was committed a second time")
	})
}

// Many waiting requests share one commit: each finds its own work again.
// Seen red with: app.combiner.try writing the batch again instead of errAlone
// (each got ErrAlreadyReserved).
func aBatchWhoseCommitIsCut(t *testing.T, c *city) {
	for name, where := range sides() {
		t.Run(name, func(t *testing.T) {
			c := c.in(t)
			r := c.open(app.Config{Combine: true})
			slot, leaving := c.slot(20), c.slot(1)
			require.NoError(t, reserve(r, leaving, "old"))
			release := c.lock(slot)
			first := later(func() error { return reserve(r, slot, "first") })
			c.until("the slot's lock is waited for", func() bool { return c.blocked() == 1 })
			var answers []<-chan error
			for i := range 24 { // they gather behind the first
				answers = append(answers, later(func() error { return reserve(r, slot, user(i)) }))
			}
			c.until("all wait", func() bool { return r.seen.waiting.Load() == 25 })
			c.proxy.cutAt(&cut{statement: isCommit, where: where}) // the first
			order := c.proxy.cutAt(&cut{statement: isCommit, where: where})
			release()
			require.NoError(t, <-first)
			errs := []error{}
			for _, a := range answers {
				errs = append(errs, <-a)
			}
			<-order.made
			require.Equal(t, map[error]int{nil: 19, app.ErrSlotFull: 5}, count(t, errs, app.ErrSlotFull))
			require.NoError(t, r.Cancel(t.Context(), leaving, "old"))
			for i, err := range errs {
				require.Equal(t, err == nil, c.number("SELECT count(*) FROM reservations WHERE slot_id = $1 AND user_id = $2", slot, user(i)) == 1)
			}
			c.sound(r)
		})
	}
}

// While the outcome is unknown another user comes by another way.
// Seen red with: app.alone answering nil instead of the second try's error.
func someoneElseComesWhileACommitIsCut(t *testing.T, c *city) {
	c.ways(t, func(t *testing.T, c *city, r replica, where side) {
		roomy, last, given := c.slot(2), c.slot(1), c.slot(1)
		insert := func(slot int64) func() {
			return func() { c.run("INSERT INTO reservations (slot_id, user_id) VALUES ($1, 'bob')", slot) }
		}

		c.proxy.cutAt(&cut{statement: isCommit, where: where, meanwhile: insert(roomy)})
		require.NoError(t, reserve(r, roomy, "alice"))
		require.Len(t, c.users(roomy), len("alice bob"))

		if where == statementLost { // the last place goes to bob: alice is told the truth
			c.proxy.cutAt(&cut{statement: isCommit, meanwhile: insert(last)})
			require.ErrorIs(t, reserve(r, last, "alice"), app.ErrSlotFull)
			require.Equal(t, "bob", c.users(last))
		}

		// A cancelled place that bob takes at once is not cancelled again.
		require.NoError(t, reserve(r, given, "alice"))
		if where != statementLost {
			c.proxy.cutAt(&cut{statement: isCommit, where: answerLost, meanwhile: insert(given)})
			require.NoError(t, r.Cancel(t.Context(), given, "alice"))
			require.Equal(t, "bob", c.users(given))
		}
		c.sound(r)
	})
}

// Without a server to ask, the client is told so, and may ask again.
// Seen red with: giveUp not making ErrUnavailable of ErrOutcomeUnknown (only
// where the retries run out); app.alone answering success unasked;
// postgres.isNetwork returning false (a dead connection reached the client);
// postgres.gone returning false (who had a place was told 201, since what was
// sent on a dead connection might have been done).
func theServerStaysAwayAfterACut(t *testing.T, c *city) {
	c.ways(t, func(t *testing.T, c *city, r replica, where side) {
		slot := c.slot(2)
		c.proxy.cutAt(&cut{statement: isCommit, where: where, meanwhile: func() { c.proxy.setDown(true) }})
		err := reserve(r, slot, "alice")
		if where == answerTorn { // it had been told
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, app.ErrUnavailable)
		}
		c.proxy.setDown(false)
		err = reserve(r, slot, "alice") // whatever is left of the connections of before
		if where != statementLost {
			require.ErrorIs(t, err, app.ErrAlreadyReserved)
		} else {
			require.NoError(t, err)
		}
		require.Equal(t, "alice", c.users(slot))
		c.sound(r)
	})
}

// Every try's commit is cut: the retries are bounded.
// Seen red with: giveUp's case of ErrOutcomeUnknown taken out.
func everyCommitIsCut(t *testing.T, c *city) {
	c.bothWays(t, app.Config{Retries: 2}, func(t *testing.T, c *city, r replica) {
		slot := c.slot(2)
		for range 10 {
			c.proxy.cutAt(&cut{statement: isCommit})
		}
		err := reserve(r, slot, "alice")
		require.ErrorIs(t, err, app.ErrUnavailable)
		require.NotErrorIs(t, err, app.ErrBusy)
		require.Empty(t, c.users(slot))
		require.Positive(t, c.proxy.recall())
		c.sound(r)
	})
}
