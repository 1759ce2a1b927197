package app

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// mute is a database that fell silent: a batch's commit is lost, and no question is answered after.
type mute struct{ Store }

func (mute) Write(context.Context, []Op, bool) ([]Outcome, error) {
	time.Sleep(time.Second) // others gather meanwhile
	return nil, unknown()
}
func (mute) Peek(_ context.Context, ops []Op) ([]error, error) { return make([]error, len(ops)), nil }
func (mute) Reserve(ctx context.Context, _ NewReservation) (Reservation, error) {
	<-ctx.Done()
	return Reservation{}, fmt.Errorf("%w: %w", ErrBusy, ctx.Err())
}

// Each of a batch looks for its own work, in the time that their calls have
// left. Seen red with: alone given context.Background().
func TestABatchThatLooksForItsWorkIsBoundedAsAWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewService(mute{}, Config{Combine: true, Batches: 1, CallTimeout: 5 * time.Second})
		defer s.Close()
		start := time.Now()
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				if i > 0 {
					time.Sleep(time.Duration(4500+i) * time.Millisecond) // behind the first one's batch
				}
				_, err := s.Reserve(t.Context(), NewReservation{SlotID: int64(i + 1), UserID: fmt.Sprint(i)})
				require.Error(t, err)
			})
		}
		all.Wait()
		require.LessOrEqual(t, time.Since(start), 15*time.Second)
	})
}
