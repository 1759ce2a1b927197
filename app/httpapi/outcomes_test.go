package httpapi

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"slotkeeper/app"

	"github.com/stretchr/testify/require"
)

func TestOutcomes(t *testing.T) {
	for want, c := range map[string]struct {
		action app.Action
		r      app.Reservation
		err    error
	}{
		"reserved":              {r: app.Reservation{Status: app.Confirmed}},
		"held":                  {r: app.Reservation{Status: app.Held}},
		"confirmed":             {action: app.ActConfirm, r: app.Reservation{Status: app.Confirmed}},
		"cancelled":             {action: app.ActCancel},
		"slot-full":             {err: app.ErrSlotFull},
		"already-reserved":      {err: fmt.Errorf("23505: %w", app.ErrAlreadyReserved)},
		"slot-started":          {err: app.ErrSlotStarted},
		"slot-not-found":        {action: app.ActCancel, err: app.ErrSlotNotFound},
		"reservation-not-found": {action: app.ActCancel, err: app.ErrReservationNotFound},
		"hold-expired":          {action: app.ActConfirm, err: app.ErrHoldExpired},
		"unsupported":           {err: app.ErrUnsupported},
		"unavailable":           {err: fmt.Errorf("%w: %w", app.ErrUnavailable, app.ErrOutcomeUnknown)},
		"busy":                  {err: fmt.Errorf("%w: %w", app.ErrBusy, context.DeadlineExceeded)},
		"client-gone":           {err: fmt.Errorf("%w: %w", app.ErrBusy, context.Canceled)},
		"invalid":               {err: &app.ValidationError{}},
		"failed":                {err: errors.New("a bug")},
	} {
		m := NewMetrics()
		require.Equal(t, want, outcomeOf(c.action, c.r, c.err))
		require.Contains(t, m.outcomes, want)
		require.Len(t, m.outcomes, 16, "each of them is in this test")
	}
}
