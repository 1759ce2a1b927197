package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/text/unicode/norm"
)

// NFC returns a text in the Unicode form in which refs, keys and user ids are
// kept and compared.
func NFC(s string) string { return norm.NFC.String(s) }

// bulkChunk is how many reservations ReserveInOrder writes in one transaction:
// it spares nearly every commit and holds the slots' locks for milliseconds.
const bulkChunk = 500

// ReserveInOrder judges many reservations one after another, as they stand,
// and returns an Outcome for each, with the errors of Reserve. A Store that is
// a Batcher writes up to 500 of them in one transaction.
//
// The first outcome that is no judgement (ErrBusy, ErrUnavailable, the end of
// ctx, an error of the Store's own) is the last one tried, so that a later
// request never takes an earlier one's place: all that follow carry the same
// error, and nothing of theirs was written. Where the connection broke during
// a commit, a place that was found taken counts as its own work, as in Reserve.
func (s *Service) ReserveInOrder(ctx context.Context, rs []NewReservation) []Outcome {
	outcomes := make([]Outcome, len(rs))
	for from := 0; from < len(rs); from += bulkChunk {
		to := min(from+bulkChunk, len(rs))
		if err := s.reserveChunk(ctx, rs[from:to], outcomes[from:to]); err != nil {
			for i := to; i < len(rs); i++ {
				outcomes[i].Err = err
			}
			break
		}
	}
	return outcomes
}

// reserveChunk fills out with what becomes of rs; its error is the one that
// ended it.
func (s *Service) reserveChunk(ctx context.Context, rs []NewReservation, out []Outcome) error {
	var list []Op
	var at []int // where in out the op's outcome belongs
	for i, r := range rs {
		r, err := r.normalize()
		if err != nil {
			out[i].Err = err
			continue
		}
		list, at = append(list, r.op()), append(at, i)
	}
	if len(list) == 0 {
		return nil
	}
	outcomes, err := s.reserveOps(ctx, list)
	for i, o := range outcomes {
		out[at[i]] = o
	}
	return err
}

func (s *Service) reserveOps(ctx context.Context, list []Op) ([]Outcome, error) {
	_, leave, err := s.enter(ctx, 0) // no slot has id 0: work on many shares a turn; it may take long
	if err != nil {
		return unjudged(make([]Outcome, len(list)), err), err
	}
	defer leave()
	outcomes, tried := s.writeTogether(ctx, list)
	return s.reserveEach(ctx, list, outcomes, tried)
}

// writeTogether writes the ops in one transaction if the Store can. Outcomes
// with ErrTransient are those that must be tried alone; tried says that their
// work may be done already.
func (s *Service) writeTogether(ctx context.Context, list []Op) (outcomes []Outcome, tried bool) {
	b, ok := s.store.(Batcher)
	if !ok {
		return unjudged(make([]Outcome, len(list)), ErrTransient), false
	}
	outcomes, err := retry(ctx, s, func(ctx context.Context, again bool) ([]Outcome, error) {
		if again {
			return nil, errAlone
		}
		s.cfg.Observer.Batch(len(list))
		return b.Write(ctx, list, true)
	})
	if err != nil {
		return unjudged(make([]Outcome, len(list)), ErrTransient), errors.Is(err, errAlone) || errors.Is(err, ErrOutcomeUnknown)
	}
	return outcomes, false
}

// reserveEach tries alone, in order, what could not be judged together: other
// slots' outcomes don't depend on it, and of one slot all ops are left or none.
func (s *Service) reserveEach(ctx context.Context, list []Op, outcomes []Outcome, tried bool) ([]Outcome, error) {
	seen := map[Place]bool{}
	for i, op := range list {
		at := Place{op.SlotID, op.UserID}
		if errors.Is(outcomes[i].Err, ErrTransient) {
			// The second request for a place is a duplicate, whatever was tried.
			r, err := s.alone(ctx, op, tried && !seen[at])
			if err != nil && !judged(err) {
				return outcomes, endWith(outcomes[i:], err)
			}
			outcomes[i] = Outcome{r, err}
		}
		seen[at] = true
	}
	return outcomes, nil
}

// endWith gives err to the outcomes that were still to be tried.
func endWith(outcomes []Outcome, err error) error {
	for i := range outcomes {
		if errors.Is(outcomes[i].Err, ErrTransient) {
			outcomes[i].Err = err
		}
	}
	return err
}

func unjudged(outcomes []Outcome, err error) []Outcome {
	for i := range outcomes {
		outcomes[i].Err = fmt.Errorf("not tried: %w", err)
	}
	return outcomes
}

// judged says whether an error of Reserve is an answer to the request itself.
func judged(err error) bool {
	for _, refusal := range []error{ErrSlotNotFound, ErrAlreadyReserved, ErrSlotStarted, ErrSlotFull, ErrUnsupported} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}

// SameInstant says whether a stored time is the one that was asked for: times
// are kept to the microsecond.
func SameInstant(asked, stored time.Time) bool {
	return asked.Truncate(time.Microsecond).Equal(stored)
}
