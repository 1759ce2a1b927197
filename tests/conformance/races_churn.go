package conformance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

func asBelow(err error) (*app.CapacityBelowReservedError, bool) {
	var below *app.CapacityBelowReservedError
	return below, errors.As(err, &below)
}

// watch reads the slots again and again until the returned function is called,
// which fails the test if a number was ever out of bounds.
func watch(t *testing.T, db app.Store, slots ...int64) (stop func()) {
	t.Helper()
	var over atomic.Bool
	result, reads := make(chan error, 1), 0
	go func() {
		for !over.Load() || reads == 0 {
			all, err := again(t.Context(), func() ([]app.Slot, error) { return db.Slots(t.Context(), app.SlotQuery{Limit: 10}) })
			if err == nil && len(all) != len(slots) {
				err = fmt.Errorf("%d slots listed", len(all))
			}
			for _, s := range all {
				if s.Available() < 0 || s.Available() > s.Capacity {
					err = fmt.Errorf("slot %d: %d of %d available", s.ID, s.Available(), s.Capacity)
				}
			}
			if reads++; err != nil {
				result <- err
				return
			}
			time.Sleep(5 * time.Millisecond) // leaves the processors to the race
		}
		result <- nil
	}()
	return func() {
		t.Helper()
		over.Store(true)
		ok(t, <-result)
		t.Logf("looked %d times", reads)
	}
}

// Case 25. Each goroutine is one user, so it knows what each answer must be.
// Seen red with: read and written in two transactions, the CHECK left out.
func churn(t *testing.T, db app.Store, d desk) {
	slots := []int64{newSlot(t, db, 1).ID, newSlot(t, db, 5).ID, newSlot(t, db, 12).ID}
	stop := watch(t, db, slots...)
	end := time.Now().Add(period(2500 * time.Millisecond))
	has := make([]map[int64]bool, 32)
	var changes atomic.Int64
	errs := atOnce(len(has), func(i int) error {
		mine, user := map[int64]bool{}, fmt.Sprint("user ", i)
		has[i] = mine
		r := rand.New(rand.NewPCG(1, uint64(i)))
		for time.Now().Before(end) {
			slotID := slots[r.IntN(len(slots))]
			err := step(t, d, r.IntN(5), slotID, user, mine)
			if err != nil {
				return fmt.Errorf("%s before slot %d (has it: %v): %w", user, slotID, mine[slotID], err)
			}
			changes.Add(1)
		}
		return nil
	})
	stop()
	count(t, errs)
	t.Logf("%d answers", changes.Load())
	for _, id := range slots {
		want := map[string]bool{}
		for i := range has {
			if has[i][id] {
				want[fmt.Sprint("user ", i)] = true
			}
		}
		got := map[string]bool{}
		for _, r := range live(t, db, id) {
			got[r.UserID] = true
		}
		require.Equal(t, want, got, "what was answered is what is there")
		reserved(t, db, id, len(want))
	}
	clean(t, db)
}

// step does one thing and returns what is wrong with the answer.
func step(t *testing.T, d desk, action int, slotID int64, user string, mine map[int64]bool) (err error) {
	want := map[bool][]error{true: {nil}, false: {app.ErrReservationNotFound}}
	switch action {
	case 0, 1:
		_, err = d.Reserve(t.Context(), app.NewReservation{SlotID: slotID, UserID: user})
		want = map[bool][]error{true: {app.ErrAlreadyReserved}, false: {nil, app.ErrSlotFull}}
	case 2, 3:
		err = d.Cancel(t.Context(), slotID, user)
	default:
		_, err = d.Confirm(t.Context(), slotID, user)
	}
	for _, w := range want[mine[slotID]] {
		if w == nil && err == nil || w != nil && errors.Is(err, w) && !errors.Is(err, app.ErrTransient) {
			if w == nil && action < 4 {
				mine[slotID] = action < 2
			}
			return nil
		}
	}
	return fmt.Errorf("action %d was answered %w", action, errors.Join(errors.New("so"), err))
}
