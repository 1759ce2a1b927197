package httpapi

import (
	"context"
	"errors"

	"slotkeeper/app"

	"github.com/prometheus/client_golang/prometheus"
)

// Outcomes of a reserve, confirm or cancel that was carried out.
const (
	outcomeReserved  = "reserved"
	outcomeHeld      = "held"
	outcomeConfirmed = "confirmed"
	outcomeCancelled = "cancelled"
)

// Outcomes that no error of package app stands for.
const (
	outcomeInvalid = "invalid"
	outcomeGone    = "client-gone"
	outcomeFailed  = "failed" // what HTTP calls internal
)

// outcomes are the others. Those that a crowd meets come first.
var outcomes = []struct {
	name string
	err  error
}{
	{"slot-full", app.ErrSlotFull},
	{"already-reserved", app.ErrAlreadyReserved},
	{"slot-started", app.ErrSlotStarted},
	{"slot-not-found", app.ErrSlotNotFound},
	{"reservation-not-found", app.ErrReservationNotFound},
	{"hold-expired", app.ErrHoldExpired},
	{"unsupported", app.ErrUnsupported},
	{"unavailable", app.ErrUnavailable}, // before busy: a try that met both may have been written
	{"busy", app.ErrBusy},
}

// countOutcomes sets all of them to zero: a rate needs that before the first one.
func (m *Metrics) countOutcomes() {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "slotkeeper_reservations_total",
		Help: "Reserves, confirms and cancels, by what became of them: reserved, held, confirmed or cancelled; refused by a rule; busy, where nothing was written; unavailable, where the database is away; client-gone, before its turn.",
	}, []string{"outcome"})
	m.registry.MustRegister(vec)
	for _, name := range []string{outcomeReserved, outcomeHeld, outcomeConfirmed, outcomeCancelled, outcomeInvalid, outcomeGone, outcomeFailed} {
		m.outcomes[name] = vec.WithLabelValues(name)
	}
	for _, o := range outcomes {
		m.outcomes[o.name] = vec.WithLabelValues(o.name)
	}
}

// Judged implements app.Observer.
func (m *Metrics) Judged(a app.Action, r app.Reservation, err error) {
	m.outcomes[outcomeOf(a, r, err)].Inc()
}

func outcomeOf(a app.Action, r app.Reservation, err error) string {
	switch {
	case err != nil:
		return outcomeOfError(err)
	case a == app.ActConfirm:
		return outcomeConfirmed
	case a == app.ActCancel:
		return outcomeCancelled
	case r.Status == app.Held:
		return outcomeHeld
	}
	return outcomeReserved
}

func outcomeOfError(err error) string {
	for _, o := range outcomes {
		if errors.Is(err, o.err) {
			if errors.Is(o.err, app.ErrBusy) && errors.Is(err, context.Canceled) {
				return outcomeGone // it was given up because nobody waits for it
			}
			return o.name
		}
	}
	var invalid *app.ValidationError
	if errors.As(err, &invalid) {
		return outcomeInvalid
	}
	return outcomeFailed
}
