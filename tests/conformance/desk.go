package conformance

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

// desk is where a race writes: the bare Store, or a Service over it.
type desk interface {
	CreateSlot(ctx context.Context, n app.NewSlot) (app.Slot, error)
	EditSlot(ctx context.Context, id, version int64, e app.SlotEdit) (app.Slot, error)
	DeleteSlot(ctx context.Context, id, version int64) error
	Reserve(ctx context.Context, r app.NewReservation) (app.Reservation, error)
	ReserveAll(ctx context.Context, rs []app.NewReservation) ([]app.Reservation, error)
	Confirm(ctx context.Context, slotID int64, userID string) (app.Reservation, error)
	Cancel(ctx context.Context, slotID int64, userID string) error
	BookAll(ctx context.Context, bs []app.NewBooking) ([]app.Booking, error)
	CancelBooking(ctx context.Context, id int64) error
}

// again runs a transaction again while the database gives it up, as a Service
// does: on a bare Store that is the caller's part.
func again[T any](ctx context.Context, try func() (T, error)) (T, error) {
	for n := 1; ; n++ {
		v, err := try()
		if n == 200 || !errors.Is(err, app.ErrTransient) {
			return v, err
		}
		select {
		case <-time.After(rand.N(time.Duration(min(n, 10)) * 5 * time.Millisecond)):
		case <-ctx.Done():
			return v, err
		}
	}
}

func againErr(ctx context.Context, try func() error) error {
	_, err := again(ctx, func() (struct{}, error) { return struct{}{}, try() })
	return err
}

// bare is a Store as a desk.
type bare struct{ db app.Store }

func (b bare) CreateSlot(ctx context.Context, n app.NewSlot) (app.Slot, error) {
	return again(ctx, func() (app.Slot, error) {
		slot, _, err := b.db.CreateSlot(ctx, n)
		return slot, err
	})
}

func (b bare) EditSlot(ctx context.Context, id, version int64, e app.SlotEdit) (app.Slot, error) {
	return again(ctx, func() (app.Slot, error) { return b.db.EditSlot(ctx, id, version, e) })
}

func (b bare) DeleteSlot(ctx context.Context, id, version int64) error {
	return againErr(ctx, func() error { return b.db.DeleteSlot(ctx, id, version) })
}

func (b bare) Reserve(ctx context.Context, r app.NewReservation) (app.Reservation, error) {
	return again(ctx, func() (app.Reservation, error) { return b.db.Reserve(ctx, r) })
}

func (b bare) ReserveAll(ctx context.Context, rs []app.NewReservation) ([]app.Reservation, error) {
	return again(ctx, func() ([]app.Reservation, error) { return b.db.ReserveAll(ctx, rs) })
}

func (b bare) Confirm(ctx context.Context, slotID int64, userID string) (app.Reservation, error) {
	return again(ctx, func() (app.Reservation, error) { return b.db.Confirm(ctx, slotID, userID) })
}

func (b bare) Cancel(ctx context.Context, slotID int64, userID string) error {
	return againErr(ctx, func() error { return b.db.Cancel(ctx, slotID, userID) })
}

func (b bare) BookAll(ctx context.Context, bs []app.NewBooking) ([]app.Booking, error) {
	return again(ctx, func() ([]app.Booking, error) { return b.db.Book(ctx, bs) })
}

func (b bare) CancelBooking(ctx context.Context, id int64) error {
	return againErr(ctx, func() error { return b.db.CancelBooking(ctx, id) })
}

// patient is a Service that neither a slow machine nor a long race makes busy.
func patient(t *testing.T, db app.Store, cfg app.Config) *app.Service {
	t.Helper()
	cfg.CallTimeout, cfg.Retries = time.Minute, 1000
	return serve(t, db, cfg)
}

// serve is a Service that is closed before its store.
func serve(t *testing.T, db app.Store, cfg app.Config) *app.Service {
	t.Helper()
	s := app.NewService(db, cfg)
	t.Cleanup(s.Close)
	return s
}

// desks runs f at each desk, on a fresh store.
func (s suite) desks(t *testing.T, name string, f func(t *testing.T, db app.Store, d desk)) {
	t.Run(name, func(t *testing.T) {
		s.single(t, f)
		s.alone(t, "combined", func(t *testing.T, db app.Store) {
			if _, can := db.(app.Batcher); !can {
				t.Skip("SKIPPED: this store is no app.Batcher")
			}
			f(t, db, patient(t, db, app.Config{Combine: true}))
		})
	})
}

// twoDesks is desks for what is never combined: slots and bookings.
func (s suite) twoDesks(t *testing.T, name string, f func(t *testing.T, db app.Store, d desk)) {
	t.Run(name, func(t *testing.T) { s.single(t, f) })
}

func (s suite) single(t *testing.T, f func(t *testing.T, db app.Store, d desk)) {
	s.alone(t, "store", func(t *testing.T, db app.Store) { f(t, db, bare{db}) })
	s.alone(t, "service", func(t *testing.T, db app.Store) { f(t, db, patient(t, db, app.Config{})) })
}

// atOnce runs f(0) to f(n-1), started together, and returns their errors.
func atOnce(n int, f func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	done.Wait()
	return errs
}

// count counts errors by which of allowed they are, nil being a success. Any
// other, and any failure of the database, fails the test: losing a race is a
// refusal and nothing else.
func count(t *testing.T, errs []error, allowed ...error) map[error]int {
	t.Helper()
	n := map[error]int{}
next:
	for i, err := range errs {
		if err == nil {
			n[nil]++
			continue
		}
		for _, want := range allowed {
			if errors.Is(err, want) {
				is(t, want, err)
				n[want]++
				continue next
			}
		}
		require.NoError(t, err, "number %d", i)
	}
	return n
}
