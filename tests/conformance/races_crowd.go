package conformance

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

// Case 12: a pool of four connections, 200 who want one slot without end. Seen
// red with: the gate left open, for one slot and in all.
func (s suite) crowd(t *testing.T) {
	for name, combine := range map[string]bool{"service": false, "combined": true} {
		t.Run(name, func(t *testing.T) {
			if s.opts.OpenSmall == nil {
				t.Skip("SKIPPED: this engine's test offers no OpenSmall, so a small pool is not tested")
			}
			db := s.opts.OpenSmall(t)
			service := patient(t, db, app.Config{Combine: combine, Writers: 3, PerSlot: 2})
			crowded, other := newSlot(t, db, 1), newSlot(t, db, 100)
			end := time.Now().Add(period(2 * time.Second))
			var before, beside, reads times
			var done sync.WaitGroup
			done.Go(func() { visitBeside(t, service, other.ID, end, &beside, &reads) })
			errs := atOnce(200, func(i int) error { return crowdIn(t, service, crowded.ID, i, end, &before) })
			done.Wait()
			count(t, errs)
			t.Logf("before the crowded slot %v, beside it %v, at most %v; reads at most %v",
				before.typical(), beside.typical(), beside.longest(), reads.longest())
			require.Less(t, max(beside.longest(), reads.longest()), time.Second)
			if !combine { // a crowd that is written together waits no longer than others
				require.Less(t, 3*beside.typical(), before.typical(), "those beside must not queue behind the crowd")
			}
			reserved(t, db, crowded.ID, 0)
			clean(t, db)
		})
	}
}

// crowdIn reserves and cancels the one place as often as it can.
func crowdIn(t *testing.T, service *app.Service, slotID int64, i int, end time.Time, took *times) error {
	user := fmt.Sprint("user ", i)
	for time.Now().Before(end) {
		err := took.call(func() error {
			_, err := service.Reserve(t.Context(), app.NewReservation{SlotID: slotID, UserID: user})
			return err
		})
		if err == nil {
			err = service.Cancel(t.Context(), slotID, user)
		}
		if err != nil && !errors.Is(err, app.ErrSlotFull) {
			return err
		}
	}
	return nil
}

// visitBeside reserves and cancels in another slot, reads it and asks for
// readiness.
func visitBeside(t *testing.T, service *app.Service, slotID int64, end time.Time, writes, reads *times) {
	for time.Now().Before(end) {
		err := errors.Join(
			writes.call(func() error {
				_, err := service.Reserve(t.Context(), app.NewReservation{SlotID: slotID, UserID: "alice"})
				return err
			}),
			writes.call(func() error { return service.Cancel(t.Context(), slotID, "alice") }),
			reads.call(func() error {
				_, err := service.Slot(t.Context(), slotID)
				return err
			}),
			reads.call(func() error { return service.Ready(t.Context()) }),
		)
		if err != nil {
			t.Error("beside the crowd:", err)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// times is how long calls took.
type times struct {
	mu  sync.Mutex
	all []time.Duration
}

func (s *times) call(f func() error) error {
	began := time.Now()
	err := f()
	took := time.Since(began)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, took)
	return err
}

func (s *times) longest() time.Duration { return slices.Max(s.all) }

func (s *times) typical() time.Duration {
	slices.Sort(s.all)
	return s.all[len(s.all)/2]
}
