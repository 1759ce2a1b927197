package faults

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

// TestLocks has other programs hold what requests need; all on one database.
func TestLocks(t *testing.T) {
	c := newCity(t)
	var name string
	require.NoError(t, c.direct.QueryRow(t.Context(), "SELECT current_database()").Scan(&name))
	c.run(fmt.Sprintf("ALTER DATABASE %s SET deadlock_timeout = '20ms'", name))
	for name, test := range map[string]func(*testing.T, *city){
		"A slot that another program holds":             aSlotThatAnotherProgramHolds,
		"Many slots that another program holds":         manySlotsThatAnotherProgramHolds,
		"A deadlock with another program":               aDeadlockWithAnotherProgram,
		"Many deadlocks with other programs":            manyDeadlocksWithOtherPrograms,
		"The queue is bounded":                          theQueueIsBounded,
		"A client that leaves":                          aClientThatLeaves,
		"What was refused as busy is not written later": whatWasRefusedAsBusyIsNotWrittenLater,
	} {
		t.Run(name, func(t *testing.T) { test(t, c.in(t)) })
	}
}

// A program holds a slot's row and does not let go. Requests come all along,
// so that some still wait when the first have been given up.
// Seen red with: the deadline of a request taken out of app.Service.do (one by
// one), or of app.combiner.try (combined): answers came after twice the call
// timeout.
func aSlotThatAnotherProgramHolds(t *testing.T, c *city) {
	const timeout, slack = time.Second, 900 * time.Millisecond
	c.bothWays(t, app.Config{CallTimeout: timeout}, func(t *testing.T, c *city, r replica) {
		locked, other := c.slot(100), c.slot(1000)
		release := c.lock(locked)
		held := make([]<-chan error, 40)
		var slowest atomic.Int64 // of those before the locked slot
		for i := range held {
			held[i] = later(func() error {
				time.Sleep(time.Duration(i) * timeout / 50) // they arrive one after the other
				begun := time.Now()
				err := reserve(r, locked, user(i))
				for took := int64(time.Since(begun)); ; {
					if old := slowest.Load(); took <= old || slowest.CompareAndSwap(old, took) {
						return err
					}
				}
			})
		}
		c.until("the lock is waited for", func() bool { return c.blocked() > 0 })
		for i := 0; i < 10; i++ { // other slots meanwhile
			begun := time.Now()
			require.NoError(t, reserve(r, other, user(i)))
			require.Less(t, time.Since(begun), time.Second, "another slot")
		}
		for _, answer := range held {
			require.ErrorIs(t, <-answer, app.ErrBusy)
		}
		require.Less(t, time.Duration(slowest.Load()), timeout+slack)
		release()
		require.Empty(t, c.users(locked), "nothing is written for who was refused")
		require.NoError(t, reserve(r, locked, "alice"))
		require.Equal(t, "alice", c.users(locked))
		c.sound(r)
	})
}

// More slots are locked than requests may wait for at once.
// Seen red with: app.combiner.write and writeAside without patience (the last
// were answered after several call timeouts); lock_slots instead of
// lock_slots_free in a batch that does not wait (the other slot waited too).
func manySlotsThatAnotherProgramHolds(t *testing.T, c *city) {
	const timeout, slack = time.Second, 900 * time.Millisecond
	c.bothWays(t, app.Config{CallTimeout: timeout}, func(t *testing.T, c *city, r replica) {
		locked := c.slots(7, 5)
		other := c.slot(5)
		tx, err := c.direct.Begin(t.Context())
		require.NoError(t, err)
		defer tx.Rollback(context.Background())
		_, err = tx.Exec(t.Context(), "SELECT FROM slots WHERE id = ANY ($1) FOR UPDATE", locked)
		require.NoError(t, err)
		begun := time.Now()
		answers := make([]<-chan error, len(locked))
		for i, id := range locked {
			answers[i] = later(func() error { return reserve(r, id, "alice") })
		}
		if r.combined { // one by one, each that waits takes a turn of the few that all share
			c.until("all wait", func() bool { return r.seen.waiting.Load() == int64(len(locked)) })
			require.NoError(t, reserve(r, other, "bob"))
			require.EqualValues(t, len(locked), r.seen.waiting.Load(), "the other slot waits for none of them")
		}
		for _, answer := range answers {
			require.ErrorIs(t, <-answer, app.ErrBusy)
		}
		require.Less(t, time.Since(begun), timeout+slack)
		require.NoError(t, reserve(r, other, "alice"))
		require.NoError(t, tx.Rollback(t.Context()))
		require.Zero(t, c.number("SELECT count(*) FROM reservations WHERE slot_id = ANY ($1)", locked))
		c.sound(r)
	})
}

// Another program takes two slots the other way round: the server ends the
// transaction that finds the deadlock, here made to be ours.
// Seen red with: 40P01 taken out of postgres.meaningOf.
func aDeadlockWithAnotherProgram(t *testing.T, c *city) {
	c.bothWays(t, app.Config{}, func(t *testing.T, c *city, r replica) {
		slots := c.slots(2, 5)
		tx, err := c.direct.Begin(t.Context())
		require.NoError(t, err)
		defer tx.Rollback(context.Background())
		_, err = tx.Exec(t.Context(), "SET LOCAL deadlock_timeout = '1min'") // ours looks first
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), "INSERT INTO reservations (slot_id, user_id) VALUES ($1, 'other')", slots[1])
		require.NoError(t, err)
		ours := later(func() error {
			_, err := r.ReserveAll(t.Context(), []app.NewReservation{{SlotID: slots[0], UserID: "alice"}, {SlotID: slots[1], UserID: "alice"}})
			return err
		})
		c.until("ours waits", func() bool { return c.blocked() == 1 })
		_, err = tx.Exec(t.Context(), "INSERT INTO reservations (slot_id, user_id) VALUES ($1, 'other')", slots[0])
		require.NoError(t, err)
		require.NoError(t, tx.Commit(t.Context()))
		require.NoError(t, <-ours)
		require.NotZero(t, r.seen.retried.Load())
		for _, id := range slots {
			require.Equal(t, "other alice", c.users(id))
		}
		c.sound(r)
	})
}

// Many at once, for as long as ours are not through: the bound on tries is out
// of the way, since how often ours lose to those that never pause is chance.
// Seen red with: 40P01 taken out of postgres.meaningOf.
func manyDeadlocksWithOtherPrograms(t *testing.T, c *city) {
	c.bothWays(t, app.Config{Retries: 1000}, func(t *testing.T, c *city, r replica) {
		slots := c.slots(2, 30)
		stop := make(chan struct{})
		var others [2]<-chan error
		for i := range others {
			others[i] = later(func() error { return c.opposite(stop, slots) })
		}
		errs := atOnce(48, func(i int) error {
			if i%3 == 0 {
				return reserve(r, slots[i%2], user(i))
			}
			_, err := r.ReserveAll(t.Context(), []app.NewReservation{{SlotID: slots[0], UserID: user(i)}, {SlotID: slots[1], UserID: user(i)}})
			return err
		})
		close(stop)
		for _, other := range others {
			require.NoError(t, <-other)
		}
		n := count(t, errs, app.ErrSlotFull)
		require.Equal(t, 48, n[nil]+n[app.ErrSlotFull])
		for _, id := range slots {
			require.LessOrEqual(t, c.number("SELECT count(*) FROM reservations WHERE slot_id = $1", id), 30)
		}
		c.sound(r)
	})
}

// opposite locks the slots from the last to the first until stop, whatever the
// server makes of it.
func (c *city) opposite(stop chan struct{}, slots []int64) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		tx, err := c.direct.Begin(context.Background())
		if err != nil {
			return err
		}
		for i := len(slots) - 1; i >= 0 && err == nil; i-- {
			_, err = tx.Exec(context.Background(), "SELECT FROM slots WHERE id = $1 FOR UPDATE", slots[i])
		}
		tx.Rollback(context.Background()) // an error here was a deadlock, and is theirs
	}
}

// begin brings as many requests before a locked slot as the database is given
// at once: a batch, or one by one, two. Further ones wait behind them.
func (c *city) begin(r replica, slotID int64) (answers []<-chan error) {
	c.t.Helper()
	n := 2
	if r.combined {
		n = 1
	}
	for i := range n {
		answers = append(answers, later(func() error { return reserve(r, slotID, fmt.Sprintf("begun%d", i)) }))
		c.until("the lock is waited for", func() bool { return c.blocked() == i+1 })
	}
	return answers
}

// Seen red with: the bound in app.combiner.enqueue, and in app.gate.join, taken out.
func theQueueIsBounded(t *testing.T, c *city) {
	const queue = 50
	c.bothWays(t, app.Config{Queue: queue}, func(t *testing.T, c *city, r replica) {
		slot := c.slot(100)
		release := c.lock(slot)
		answers := c.begin(r, slot)
		begun := r.seen.waiting.Load()
		for i := range queue {
			answers = append(answers, later(func() error { return reserve(r, slot, user(i)) }))
		}
		c.until("the queue is full", func() bool { return r.seen.waiting.Load() == begun+queue })
		for range 5 {
			asked := time.Now()
			require.ErrorIs(t, reserve(r, slot, "late"), app.ErrBusy)
			require.Less(t, time.Since(asked), 500*time.Millisecond, "at once")
		}
		release()
		for _, answer := range answers {
			require.NoError(t, <-answer)
		}
		require.Equal(t, len(answers), c.number("SELECT count(*) FROM reservations WHERE slot_id = $1", slot))
		c.sound(r)
	})
}

// A client that leaves while it waits is dropped and writes nothing.
// Seen red with: app.combiner.dropped always false; app.take not looking at ctx.
func aClientThatLeaves(t *testing.T, c *city) {
	c.bothWays(t, app.Config{}, func(t *testing.T, c *city, r replica) {
		slot := c.slot(100)
		release := c.lock(slot)
		leaving := func(ctx context.Context, name string) <-chan error {
			return later(func() error {
				_, err := r.Reserve(ctx, app.NewReservation{SlotID: slot, UserID: name})
				return err
			})
		}
		begun := c.begin(r, slot)
		ctx, cancel := context.WithCancel(t.Context())
		var gone []<-chan error
		before := r.seen.waiting.Load()
		for i := range 10 {
			gone = append(gone, leaving(ctx, fmt.Sprintf("gone%d", i)))
		}
		c.until("they wait", func() bool { return r.seen.waiting.Load() == before+10 })
		cancel()
		for _, answer := range gone { // at once, while the slot is locked still
			require.ErrorIs(t, <-answer, app.ErrBusy)
		}
		release()
		for _, answer := range begun {
			require.NoError(t, <-answer)
		}
		written := c.users(slot)
		require.Len(t, strings.Fields(written), len(begun), written)

		// And one whose request the database has: what it is told is so.
		release = c.lock(slot)
		ctx, cancel = context.WithCancel(t.Context())
		answer := leaving(ctx, "begun")
		c.until("the lock is waited for", func() bool { return c.blocked() == 1 })
		cancel()
		if r.combined {
			release()
			require.NoError(t, <-answer)
			written += " begun"
		} else {
			require.ErrorIs(t, <-answer, app.ErrBusy)
			release()
			c.ended()
		}
		require.Equal(t, written, c.users(slot))
		c.sound(r)
	})
}

// ErrBusy says that nothing was written, nor will be: a statement that waits in
// the server beyond its client's patience must not be carried out later.
// Seen red with: CreateResource as a statement without a transaction (its row
// came when the lock was let go).
func whatWasRefusedAsBusyIsNotWrittenLater(t *testing.T, c *city) {
	r := c.open(app.Config{CallTimeout: time.Second})
	c.proxy.dropCancels(true) // they are a courtesy, and may be lost
	defer c.proxy.dropCancels(false)
	for table, create := range map[string]func(name string) error{
		"slots": func(name string) error {
			_, err := r.CreateSlot(t.Context(), app.NewSlot{StartsAt: at(0), EndsAt: at(10), Capacity: 9000 + len(name)})
			return err
		},
		"resources": func(name string) error {
			_, err := r.CreateResource(t.Context(), app.Resource{Key: name, Name: name, Kind: app.KindThing})
			return err
		},
	} {
		require.NoError(t, create("first")) // its connection knows the statement, and has but to run it
		rows := c.number("SELECT count(*) FROM " + table)
		tx, err := c.direct.Begin(t.Context())
		require.NoError(t, err)
		defer tx.Rollback(context.Background())
		_, err = tx.Exec(t.Context(), "LOCK TABLE "+table+" IN EXCLUSIVE MODE")
		require.NoError(t, err)
		require.ErrorIs(t, create("second"), app.ErrBusy)
		require.NoError(t, tx.Rollback(t.Context()))
		c.ended()
		require.Equal(t, rows, c.number("SELECT count(*) FROM "+table), table)
	}
	c.sound(r)
}
