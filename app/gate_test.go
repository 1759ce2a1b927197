package app

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// hold enters for key and stays until release is closed.
func hold(t *testing.T, g *gate, key int64, release <-chan struct{}, inside *atomic.Int64) {
	t.Helper()
	go func() {
		leave, err := g.enter(t.Context(), key)
		if err != nil {
			return
		}
		inside.Add(1)
		<-release
		leave()
	}()
	synctest.Wait()
}

// Case 12: who waits before one slot takes no place from the others. Seen red
// with: g.all taken before the key's token.
func TestCrowdBeforeOneKeyLeavesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(2, 4, 1000)
		release := make(chan struct{})
		var crowd, others atomic.Int64
		for range 50 {
			hold(t, g, 1, release, &crowd)
		}
		require.EqualValues(t, 2, crowd.Load())
		hold(t, g, 2, release, &others)
		hold(t, g, 3, release, &others)
		require.EqualValues(t, 2, others.Load(), "other keys have the rest")
		hold(t, g, 4, release, &others)
		require.EqualValues(t, 2, others.Load(), "four write in all")
		close(release)
		synctest.Wait()
		require.EqualValues(t, 50, crowd.Load())
		require.EqualValues(t, 3, others.Load())
		require.Empty(t, g.keys, "keys nobody uses are forgotten")
		require.Zero(t, g.waiting)
		require.Empty(t, g.all)
	})
}

// Seen red with: a queue that is never counted down, part left out on failure.
func TestGateRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1, 1, 2)
		release := make(chan struct{})
		var in atomic.Int64
		hold(t, g, 1, release, &in)
		hold(t, g, 1, release, &in) // waits before the key
		hold(t, g, 2, release, &in) // waits before the whole
		start := time.Now()
		_, err := g.enter(t.Context(), 3)
		require.ErrorIs(t, err, ErrBusy)
		require.Zero(t, time.Since(start), "a full queue refuses at once")
		close(release)
		synctest.Wait()
		require.EqualValues(t, 3, in.Load())
		leave, err := g.enter(t.Context(), 3)
		require.NoError(t, err)
		leave()
		require.Empty(t, g.keys)
	})
}

// Seen red with: the key not forgotten when the place in the whole was not had.
func TestGateWaitEndsWithContext(t *testing.T) {
	for name, held := range map[string]int64{"before the key": 1, "before the whole": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(1, 1, 10)
				release := make(chan struct{})
				var in atomic.Int64
				hold(t, g, held, release, &in)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				start := time.Now()
				_, err := g.enter(ctx, 1)
				require.ErrorIs(t, err, ErrBusy)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, time.Second, time.Since(start))
				close(release)
				synctest.Wait()
				leave, err := g.enter(t.Context(), 1)
				require.NoError(t, err, "nothing is left taken")
				leave()
				require.Empty(t, g.keys)
				require.Zero(t, g.waiting)
			})
		})
	}
}

// Who gives up with the key in hand leaves it to the next. Seen red with: the
// key's token kept when the place in the whole was not had.
func TestGivingUpHandsTheKeyOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1, 1, 10)
		release := make(chan struct{})
		var other, next atomic.Int64
		hold(t, g, 2, release, &other)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() { _, _ = g.enter(ctx, 1) }()
		synctest.Wait()
		hold(t, g, 1, release, &next)
		time.Sleep(2 * time.Second)
		close(release)
		synctest.Wait()
		require.EqualValues(t, 1, next.Load())
	})
}

// Through the Service: what waits in vain for its turn is busy, in time.
func TestServiceBoundsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &stuck{release: make(chan struct{})}
		s := NewService(db, Config{CallTimeout: time.Second, PerSlot: 1, Writers: 2})
		first := make(chan error, 1)
		go func() {
			_, err := s.Reserve(t.Context(), NewReservation{SlotID: 1, UserID: "alice"})
			first <- err
		}()
		synctest.Wait()
		start := time.Now()
		_, err := s.EditSlot(t.Context(), 1, 1, SlotEdit{})
		require.ErrorIs(t, err, ErrBusy)
		require.Equal(t, time.Second, time.Since(start))
		require.NoError(t, s.Cancel(t.Context(), 2, "alice"), "another slot goes on")
		close(db.release)
		require.NoError(t, <-first)
		require.Empty(t, s.gate.keys)
	})
}

// stuck is a Store whose Reserve waits for release.
type stuck struct {
	Store
	release chan struct{}
}

func (s *stuck) Reserve(context.Context, NewReservation) (Reservation, error) {
	<-s.release
	return Reservation{}, nil
}

func (*stuck) Cancel(context.Context, int64, string) error { return nil }
