package faults

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

// An administrator ends the service's sessions, again and again.
// Seen red with: 57P01 taken out of postgres.meaningOf (it reached a client).
func TestTheServerEndsAllSessions(t *testing.T) {
	const clients, each, capacity, kills = 64, 6, 40, 5
	newCity(t).bothWays(t, app.Config{}, func(t *testing.T, c *city, r replica) {
		slots := c.slots(each, capacity)
		answered := make(chan struct{}, clients*each)
		var mu sync.Mutex
		told := map[int64][]string{} // who was told to have a place
		ended := later(func() error {
			for range kills { // at moments spread over the run
				for range clients * each / (kills + 1) {
					<-answered
				}
				if _, err := c.direct.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
					WHERE datname = current_database() AND application_name = $1`, proxied); err != nil {
					return err
				}
			}
			return nil
		})
		atOnce(clients, func(i int) error {
			for n := range each {
				slot := slots[(i+n)%each]
				err := reserve(r, slot, user(i))
				answered <- struct{}{}
				if err == nil {
					mu.Lock()
					told[slot] = append(told[slot], user(i))
					mu.Unlock()
					continue
				}
				if !errors.Is(err, app.ErrSlotFull) && !errors.Is(err, app.ErrUnavailable) && !errors.Is(err, app.ErrBusy) {
					t.Errorf("reached a client: %v", err)
				}
			}
			return nil
		})
		require.NoError(t, <-ended)
		for _, slot := range slots {
			n := c.number("SELECT count(*) FROM reservations WHERE slot_id = $1", slot)
			require.LessOrEqual(t, n, capacity)
			require.Equal(t, len(told[slot]), c.number("SELECT count(*) FROM reservations WHERE slot_id = $1 AND user_id = ANY ($2)", slot, told[slot]),
				"each success is a row")
		}
		// It recovers by itself, and each slot fills up.
		for _, slot := range slots {
			errs := atOnce(clients, func(i int) error { return reserve(r, slot, user(i)) })
			count(t, errs, app.ErrSlotFull, app.ErrAlreadyReserved)
			require.Equal(t, capacity, c.number("SELECT count(*) FROM reservations WHERE slot_id = $1", slot))
		}
		c.sound(r)
	})
}
