package app

import (
	"context"
	"errors"
	"fmt"
)

// ReservationPage is one page of reservations; Next is the id behind which the
// following one begins, 0 on the last page.
type ReservationPage struct {
	Items []Reservation
	Next  int64
}

// Reserve takes one place. Errors: *ValidationError, ErrSlotNotFound,
// ErrAlreadyReserved, ErrSlotStarted, ErrSlotFull.
func (s *Service) Reserve(ctx context.Context, r NewReservation) (Reservation, error) {
	made, err := s.reserve(ctx, r)
	s.cfg.Observer.Judged(ActReserve, made, err)
	return made, err
}

func (s *Service) reserve(ctx context.Context, r NewReservation) (Reservation, error) {
	r, err := r.normalize()
	if err != nil {
		return Reservation{}, err
	}
	return s.do(ctx, r.op())
}

// Confirm turns a hold into a reservation. Errors: ErrSlotNotFound,
// ErrReservationNotFound, ErrHoldExpired.
func (s *Service) Confirm(ctx context.Context, slotID int64, userID string) (Reservation, error) {
	return s.ofUser(ctx, Op{Action: ActConfirm, SlotID: slotID, UserID: userID})
}

// Cancel gives the place back at once. Errors: ErrSlotNotFound,
// ErrReservationNotFound.
func (s *Service) Cancel(ctx context.Context, slotID int64, userID string) error {
	_, err := s.ofUser(ctx, Op{Action: ActCancel, SlotID: slotID, UserID: userID})
	return err
}

// ofUser is do for what a user has already.
func (s *Service) ofUser(ctx context.Context, op Op) (r Reservation, err error) {
	defer func() { s.cfg.Observer.Judged(op.Action, r, err) }()
	userID, problem := normalizeText(op.UserID)
	if problem != "" {
		return Reservation{}, ErrReservationNotFound // no such user can be
	}
	op.UserID = userID
	return s.do(ctx, op)
}

// do writes one op: with those that wait, or alone.
func (s *Service) do(ctx context.Context, op Op) (Reservation, error) {
	if s.combiner != nil {
		return s.combiner.do(ctx, op)
	}
	ctx, leave, err := s.enter(ctx, op.SlotID)
	if err != nil {
		return Reservation{}, err
	}
	defer leave()
	return s.alone(ctx, op, false)
}

// alone writes one op in a transaction of its own. After a broken commit (tried
// says that one came before) it may find its own work: slot and user are the
// idempotency key.
func (s *Service) alone(ctx context.Context, op Op, tried bool) (Reservation, error) {
	r, err := retry(ctx, s, func(ctx context.Context, again bool) (Reservation, error) {
		r, err := s.apply(ctx, op)
		again = again || tried
		switch {
		case again && op.Action == ActReserve && errors.Is(err, ErrAlreadyReserved):
			return s.store.Reservation(ctx, op.SlotID, op.UserID)
		case again && op.Action == ActCancel && errors.Is(err, ErrReservationNotFound):
			return Reservation{}, nil
		}
		return r, err
	})
	return r, stillUnknown(err, tried)
}

func (s *Service) apply(ctx context.Context, op Op) (Reservation, error) {
	switch op.Action {
	case ActConfirm:
		return s.store.Confirm(ctx, op.SlotID, op.UserID)
	case ActCancel:
		return Reservation{}, s.store.Cancel(ctx, op.SlotID, op.UserID)
	default:
		return s.store.Reserve(ctx, NewReservation{op.SlotID, op.UserID, op.Hold, op.AllowPast, op.CreatedAt})
	}
}

// ReserveAll takes a place in each of 1 to MaxTogether different slots, or in
// none. Errors: *ValidationError, *ManyError over the errors of Reserve.
func (s *Service) ReserveAll(ctx context.Context, rs []NewReservation) ([]Reservation, error) {
	made, err := s.reserveAll(ctx, rs)
	var many *ManyError
	switch {
	case errors.As(err, &many):
		for _, f := range many.Failures {
			s.cfg.Observer.Judged(ActReserve, Reservation{}, f.Err)
		}
	case err != nil:
		s.cfg.Observer.Judged(ActReserve, Reservation{}, err)
	default:
		for _, r := range made {
			s.cfg.Observer.Judged(ActReserve, r, nil)
		}
	}
	return made, err
}

func (s *Service) reserveAll(ctx context.Context, rs []NewReservation) ([]Reservation, error) {
	rs, err := normalizeAll(rs)
	if err != nil {
		return nil, err
	}
	ctx, leave, err := s.enter(ctx, 0) // no slot has id 0: requests for several share a turn
	if err != nil {
		return nil, err
	}
	defer leave()
	return once(ctx, s, func(ctx context.Context) ([]Reservation, error) { return s.store.ReserveAll(ctx, rs) })
}

func normalizeAll(rs []NewReservation) ([]NewReservation, error) {
	var bad fieldErrors
	if len(rs) < 1 || len(rs) > MaxTogether {
		bad.add("slot_ids", fmt.Sprintf("must name 1 to %d slots", MaxTogether))
	}
	first := map[int64]int{}
	out := make([]NewReservation, len(rs))
	for i, r := range rs {
		if at, twice := first[r.SlotID]; twice {
			bad.add(fmt.Sprintf("slot_ids/%d", i), fmt.Sprintf("names the same slot as slot_ids/%d", at))
		} else {
			first[r.SlotID] = i
		}
		n, err := r.normalize()
		var invalid *ValidationError
		if i == 0 && errors.As(err, &invalid) { // user and hold are the same in each
			bad = append(bad, invalid.Fields...)
		}
		out[i] = n
	}
	return out, bad.err()
}

// Reservation returns a live reservation. Errors: ErrSlotNotFound,
// ErrReservationNotFound.
func (s *Service) Reservation(ctx context.Context, slotID int64, userID string) (Reservation, error) {
	userID, problem := normalizeText(userID)
	if problem != "" {
		return Reservation{}, ErrReservationNotFound
	}
	return read(ctx, s, func(ctx context.Context) (Reservation, error) {
		return s.store.Reservation(ctx, slotID, userID)
	})
}

// Reservations returns a page of a slot's live reservations, oldest first,
// behind the id after. Errors: ErrSlotNotFound.
func (s *Service) Reservations(ctx context.Context, slotID, after int64, limit int) (ReservationPage, error) {
	limit = pageSize(limit)
	items, err := read(ctx, s, func(ctx context.Context) ([]Reservation, error) {
		return s.store.Reservations(ctx, slotID, after, limit+1)
	})
	page := ReservationPage{Items: items}
	if len(items) > limit {
		page.Items = items[:limit]
		page.Next = page.Items[limit-1].ID
	}
	return page, err
}
