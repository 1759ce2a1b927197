package app

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// script plays one error a try, nil when it has run out, and notes what each
// try was told.
type script struct {
	errs  []error
	after []bool
}

func (p *script) try(_ context.Context, again bool) (string, error) {
	n := len(p.after)
	p.after = append(p.after, again)
	if n < len(p.errs) {
		return "", p.errs[n]
	}
	return "done", nil
}

var errDriver = errors.New("SQLSTATE of some kind")

func transient() error { return fmt.Errorf("%w: %w", ErrTransient, errDriver) }
func unknown() error   { return fmt.Errorf("%w: %w", ErrOutcomeUnknown, errDriver) }

func lone(retries int) *Service {
	return NewService(nil, Config{Retries: retries, CallTimeout: 5 * time.Second})
}

// Seen red with: no retry, a bound that is off by one, again not kept for the
// tries after the next one, the cause dropped.
func TestRetry(t *testing.T) {
	for _, c := range []struct {
		name  string
		errs  []error
		want  error
		after []bool
	}{
		{"at once", nil, nil, []bool{false}},
		{"after transient failures", []error{transient(), transient()}, nil, []bool{false, false, false}},
		{"bounded", []error{transient(), transient(), transient(), transient()}, ErrBusy, []bool{false, false, false, false}},
		{"unknown outcome is told to all later tries", []error{unknown(), transient()}, nil, []bool{false, true, true}},
		{"unknown to the end", []error{unknown(), unknown(), unknown(), unknown()}, ErrUnavailable, []bool{false, true, true, true}},
		{"a refusal is final", []error{ErrSlotFull}, ErrSlotFull, []bool{false}},
		{"so is a database that is away", []error{ErrUnavailable}, ErrUnavailable, []bool{false}},
		{"and a bug", []error{errDriver}, errDriver, []bool{false}},
		{"a deadline is busy", []error{context.DeadlineExceeded}, ErrBusy, []bool{false}},
		{"unless the database is away", []error{errors.Join(ErrUnavailable, context.DeadlineExceeded)}, ErrUnavailable, []bool{false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &script{errs: c.errs}
				v, err := retry(t.Context(), lone(3), p.try)
				require.ErrorIs(t, err, c.want)
				require.Equal(t, c.after, p.after)
				if c.want == nil {
					require.Equal(t, "done", v)
					return
				}
				require.Zero(t, v)
				require.ErrorIs(t, err, c.errs[len(c.errs)-1], "the cause is kept for the log")
			})
		})
	}
}

// Seen red with: a pause of the bare time.Sleep.
func TestRetryEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := &script{errs: []error{transient()}}
		_, err := retry(ctx, lone(1000), func(ctx context.Context, again bool) (string, error) {
			v, err := p.try(ctx, again)
			cancel()
			return v, err
		})
		require.ErrorIs(t, err, ErrBusy)
		require.Len(t, p.after, 1)
	})
}

// Seen red with: no time-out set, a backoff without a bound.
func TestRetryIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, tries := time.Now(), 0
		_, err := retry(t.Context(), lone(1_000_000), func(context.Context, bool) (int, error) {
			tries++
			return 0, transient()
		})
		require.ErrorIs(t, err, ErrBusy)
		require.Equal(t, 5*time.Second, time.Since(start))
		require.Greater(t, tries, 5*10, "pauses stay under a tenth of a second")
	})
}

// "Busy" says that nothing was written. Seen red with: stillUnknown returning
// err as it is.
func TestNothingIsPromisedAfterAnUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, last := range [][]error{
			{transient(), transient(), transient()}, // the retries run out
			{context.DeadlineExceeded},              // the time does
			{ErrBusy},
		} {
			p := &script{errs: append([]error{unknown()}, last...)}
			_, err := retry(t.Context(), lone(3), p.try)
			require.ErrorIs(t, err, ErrUnavailable)
			require.NotErrorIs(t, err, ErrBusy)
			require.ErrorContains(t, err, last[0].Error(), "the cause is kept for the log")
		}
		// Its batch had the unknown outcome, and it finds no turn to look.
		db := &singles{reserve: script{errs: []error{ErrBusy}}}
		_, err := NewService(db, Config{}).alone(t.Context(), Op{Action: ActReserve}, true)
		require.ErrorIs(t, err, ErrUnavailable)
		require.NotErrorIs(t, err, ErrBusy)
	})
}

// What recognises its own work is run again after a broken commit, what does
// not is left to the client. Seen red with: once that runs again, read that
// does not.
func TestUnknownOutcomeOfReadAndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &script{errs: []error{unknown()}}
		v, err := read(t.Context(), lone(3), func(ctx context.Context) (string, error) { return p.try(ctx, false) })
		require.NoError(t, err)
		require.Equal(t, "done", v)

		p = &script{errs: []error{transient(), unknown()}}
		_, err = once(t.Context(), lone(3), func(ctx context.Context) (string, error) { return p.try(ctx, false) })
		require.ErrorIs(t, err, ErrUnavailable)
		require.Len(t, p.after, 2)
	})
}

// singles is a Store whose single writes play scripts.
type singles struct {
	Store
	reserve, cancel, confirm script
	live                     Reservation
}

func (s *singles) Reserve(ctx context.Context, _ NewReservation) (Reservation, error) {
	_, err := s.reserve.try(ctx, false)
	return s.live, err
}

func (s *singles) Cancel(ctx context.Context, _ int64, _ string) error {
	_, err := s.cancel.try(ctx, false)
	return err
}

func (s *singles) Confirm(ctx context.Context, _ int64, _ string) (Reservation, error) {
	_, err := s.confirm.try(ctx, false)
	return s.live, err
}

func (s *singles) Reservation(context.Context, int64, string) (Reservation, error) {
	return s.live, nil
}

// Case 27: the commit's answer was lost. Seen red with: the own row reported
// as a duplicate, a duplicate swallowed that no lost commit came before.
func TestOwnWorkIsRecognised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live := Reservation{ID: 7, SlotID: 1, UserID: "alice", Status: Confirmed}
		db := &singles{live: live}
		s := NewService(db, Config{})

		db.reserve = script{errs: []error{unknown(), ErrAlreadyReserved}}
		r, err := s.Reserve(t.Context(), NewReservation{SlotID: 1, UserID: "alice"})
		require.NoError(t, err)
		require.Equal(t, live, r)

		db.reserve = script{errs: []error{transient(), ErrAlreadyReserved}}
		_, err = s.Reserve(t.Context(), NewReservation{SlotID: 1, UserID: "alice"})
		require.ErrorIs(t, err, ErrAlreadyReserved)

		db.reserve = script{errs: []error{unknown(), ErrSlotFull}}
		_, err = s.Reserve(t.Context(), NewReservation{SlotID: 1, UserID: "alice"})
		require.ErrorIs(t, err, ErrSlotFull, "the commit was not in the database")

		db.cancel = script{errs: []error{unknown(), ErrReservationNotFound}}
		require.NoError(t, s.Cancel(t.Context(), 1, "alice"))

		db.cancel = script{errs: []error{transient(), ErrReservationNotFound}}
		require.ErrorIs(t, s.Cancel(t.Context(), 1, "alice"), ErrReservationNotFound)

		db.confirm = script{errs: []error{unknown()}}
		_, err = s.Confirm(t.Context(), 1, "alice")
		require.NoError(t, err, "confirming twice is one confirmation")
	})
}
