package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

// TestReplicas has two services share one database.
func TestReplicas(t *testing.T) {
	c := newCity(t)
	for name, test := range map[string]func(*testing.T, *city){
		"Two replicas fill one slot":                   twoReplicasFillOneSlot,
		"A cancel at one replica is seen at the other": aCancelAtOneReplicaIsSeenAtTheOther,
		"Two replicas sweep at once":                   twoReplicasSweepAtOnce,
		"A hold that expired unswept":                  aHoldThatExpiredUnswept,
	} {
		t.Run(name, func(t *testing.T) { test(t, c.in(t)) })
	}
}

// Seen red with: lock_slots and lock_slots_free without FOR NO KEY UPDATE and
// the CHECK slots_capacity dropped.
func twoReplicasFillOneSlot(t *testing.T, c *city) {
	const clients, capacity = 256, 100
	c.bothWays(t, app.Config{}, func(t *testing.T, c *city, r replica) {
		replicas := []replica{r, c.open(app.Config{Combine: true})}
		slot := c.slot(capacity)
		errs := atOnce(clients, func(i int) error { return reserve(replicas[i%2], slot, user(i)) })
		require.Equal(t, map[error]int{nil: capacity, app.ErrSlotFull: clients - capacity}, count(t, errs, app.ErrSlotFull))
		require.Equal(t, capacity, c.number("SELECT count(*) FROM reservations WHERE slot_id = $1", slot))
		for _, r := range replicas {
			c.sound(r)
		}
	})
}

// What one replica has answered the other knows: the slot was full there too,
// where that is answered without a lock.
// Seen red with: app.combiner.peek refusing by its memory of full slots alone.
func aCancelAtOneReplicaIsSeenAtTheOther(t *testing.T, c *city) {
	c.bothWays(t, app.Config{}, func(t *testing.T, c *city, one replica) {
		two := c.open(app.Config{Combine: true})
		slot := c.slot(1)
		require.NoError(t, reserve(one, slot, user(0)))
		for i := range 50 {
			require.ErrorIs(t, reserve(one, slot, "late"), app.ErrSlotFull)
			require.ErrorIs(t, reserve(two, slot, "late"), app.ErrSlotFull)
			require.NoError(t, one.Cancel(t.Context(), slot, user(i)))
			require.NoError(t, reserve(two, slot, user(i+1)), "round %d", i)
			one, two = two, one
		}
		require.Equal(t, user(50), c.users(slot))
		c.sound(one)
		c.sound(two)
	})
}

// Seen red with: the status taken out of expire_holds' condition and of
// sweep_bookings' (each replica freed them all).
func twoReplicasSweepAtOnce(t *testing.T, c *city) {
	const holds, bookings = 400, 60
	replicas := []replica{c.open(app.Config{}), c.open(app.Config{Combine: true})}
	slots := c.slots(20, 30)
	for round := range 3 {
		c.run(`INSERT INTO reservations (slot_id, user_id, status, expires_at)
			SELECT ($1::bigint[])[1 + i % 20], 'user' || i, 'held', now() - interval '1 second' FROM generate_series(1, $2) i`, slots, holds)
		c.run(`INSERT INTO resources (key, name, kind) VALUES ('bay', 'bay', 'thing') ON CONFLICT DO NOTHING`)
		c.run(`INSERT INTO bookings (thing_id, user_id, starts_at, ends_at, status, expires_at)
			SELECT (SELECT id FROM resources), 'user', now() + i * interval '1 hour', now() + (i + 1) * interval '1 hour',
			'held', now() - interval '1 second' FROM generate_series(1, $1) i`, bookings)
		var freed [2]int
		errs := atOnce(2, func(i int) (err error) { freed[i], err = replicas[i].Sweep(t.Context()); return err })
		require.Equal(t, 2, count(t, errs)[nil])
		assert.Equal(t, holds+bookings, freed[0]+freed[1], "round %d: %v", round, freed)
		require.Zero(t, c.number("SELECT sum(reserved)::int FROM slots WHERE id = ANY ($1)", slots))
		require.Zero(t, c.number("SELECT count(*) FROM reservations WHERE status = 'held'"))
		require.Zero(t, c.number("SELECT count(*) FROM bookings WHERE status = 'held'"))
	}
	for _, r := range replicas {
		c.sound(r)
	}
}

// Case 4: nobody sweeps. Seen red with: expire_holds left out of
// postgres.Store.look (bob got ErrSlotFull).
func aHoldThatExpiredUnswept(t *testing.T, c *city) {
	c.bothWays(t, app.Config{}, func(t *testing.T, c *city, r replica) {
		slot := c.slot(1)
		_, err := r.Reserve(t.Context(), app.NewReservation{SlotID: slot, UserID: "alice", Hold: time.Second})
		require.NoError(t, err)
		c.until("the slot shows free", func() bool {
			s, err := r.Slot(t.Context(), slot)
			require.NoError(t, err)
			return s.Available() == 1
		})
		require.NoError(t, reserve(r, slot, "bob"))
		_, err = r.Confirm(t.Context(), slot, "alice")
		require.ErrorIs(t, err, app.ErrHoldExpired)
		require.Equal(t, "bob", c.users(slot))
		c.sound(r)
	})
}
