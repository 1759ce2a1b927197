package app

import (
	"context"
	"time"
)

// SlotPage is one page of slots; Next is where the following one begins, nil
// on the last page.
type SlotPage struct {
	Items []Slot
	Next  *SlotCursor
}

// CreateSlot publishes a slot. Errors: *ValidationError, ErrSlotOverlap.
func (s *Service) CreateSlot(ctx context.Context, n NewSlot) (Slot, error) {
	slot, _, err := s.ImportSlot(ctx, n)
	return slot, err
}

// ImportSlot is CreateSlot for a slot that another system knows by n.Ref; one
// that is here already is returned as it stands, with created false.
func (s *Service) ImportSlot(ctx context.Context, n NewSlot) (slot Slot, created bool, err error) {
	n, err = n.normalize()
	if err != nil {
		return Slot{}, false, err
	}
	run := once[Slot]
	if n.Ref != "" {
		run = read[Slot] // the ref recognises its own work
	}
	slot, err = run(ctx, s, func(ctx context.Context) (slot Slot, err error) {
		slot, created, err = s.store.CreateSlot(ctx, n)
		return slot, err
	})
	return slot, created, err
}

// Slot returns one slot. Errors: ErrSlotNotFound.
func (s *Service) Slot(ctx context.Context, id int64) (Slot, error) {
	return read(ctx, s, func(ctx context.Context) (Slot, error) { return s.store.Slot(ctx, id) })
}

// Slots returns a page of at most q.Limit slots (DefaultPage if 0).
func (s *Service) Slots(ctx context.Context, q SlotQuery) (SlotPage, error) {
	limit := pageSize(q.Limit)
	q.Limit = limit + 1
	items, err := read(ctx, s, func(ctx context.Context) ([]Slot, error) { return s.store.Slots(ctx, q) })
	page := SlotPage{Items: items}
	if len(items) > limit {
		page.Items = items[:limit]
		last := page.Items[limit-1]
		page.Next = &SlotCursor{last.StartsAt, last.ID}
	}
	return page, err
}

// EditSlot changes a slot that still has this version. Errors:
// *ValidationError, ErrSlotNotFound, ErrVersionMismatch, ErrSlotOverlap,
// *CapacityBelowReservedError.
func (s *Service) EditSlot(ctx context.Context, id, version int64, e SlotEdit) (Slot, error) {
	e, err := e.normalize()
	if err != nil {
		return Slot{}, err
	}
	ctx, leave, err := s.enter(ctx, id)
	if err != nil {
		return Slot{}, err
	}
	defer leave()
	return once(ctx, s, func(ctx context.Context) (Slot, error) { return s.store.EditSlot(ctx, id, version, e) })
}

// DeleteSlot removes a slot that no one has reserved; version 0 is whichever.
// Errors: ErrSlotNotFound, ErrVersionMismatch, ErrSlotHasReservations.
func (s *Service) DeleteSlot(ctx context.Context, id, version int64) error {
	ctx, leave, err := s.enter(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	_, err = once(ctx, s, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.store.DeleteSlot(ctx, id, version)
	})
	return err
}

func pageSize(n int) int {
	if n <= 0 {
		return DefaultPage
	}
	return min(n, MaxPage)
}

// enter waits for a turn before a slot. The context that it returns ends when
// the call has taken as long as it may, waiting included; leave ends both, and
// tells how long the call waited in all.
func (s *Service) enter(ctx context.Context, slotID int64) (_ context.Context, leave func(), err error) {
	since := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	s.cfg.Observer.Waiting(1)
	defer s.cfg.Observer.Waiting(-1)
	done, err := s.gate.enter(ctx, slotID)
	turn := time.Since(since)
	if err != nil {
		cancel()
		s.cfg.Observer.Waited(turn)
		return nil, nil, err
	}
	ctx, locks := withLockWait(ctx)
	return ctx, func() {
		done()
		cancel()
		s.cfg.Observer.Waited(turn + locks.total())
	}, nil
}
