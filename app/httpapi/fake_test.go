package httpapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"slotkeeper/app"
)

// fake is a Store in memory, for the shapes of requests and answers. What it
// does under concurrency proves nothing; tests/api does that over an engine.
type fake struct {
	app.Store // panics where a method is missing
	mu        sync.Mutex
	slots     []app.Slot
	places    []app.Reservation
	resources []app.Resource
	bookings  []app.Booking
	fail      error                     // returned by whatever is called next, until it is nil
	block     func(ctx context.Context) // called first
}

var longAgo = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// enter starts each call and returns the error that it was told to fail with.
func (f *fake) enter(ctx context.Context) error {
	if f.block != nil {
		f.block(ctx)
	}
	f.mu.Lock()
	return f.fail
}

func (f *fake) Ready(context.Context) error {
	defer f.mu.Unlock()
	return f.enter(context.Background())
}

func (f *fake) CreateSlot(ctx context.Context, n app.NewSlot) (app.Slot, bool, error) {
	defer f.mu.Unlock()
	if err := f.enter(ctx); err != nil {
		return app.Slot{}, false, err
	}
	for _, s := range f.slots {
		if n.Resource != "" && s.Resource == n.Resource && s.StartsAt.Before(n.EndsAt) && n.StartsAt.Before(s.EndsAt) {
			return app.Slot{}, false, fmt.Errorf("insert: %w", app.ErrSlotOverlap)
		}
	}
	s := app.Slot{ID: int64(len(f.slots)) + 1, Resource: n.Resource, StartsAt: n.StartsAt, EndsAt: n.EndsAt, Capacity: n.Capacity, Version: 1}
	f.slots = append(f.slots, s)
	return s, true, nil
}

func (f *fake) find(id int64) (*app.Slot, error) {
	for i := range f.slots {
		if f.slots[i].ID == id && f.slots[i].Version > 0 { // version 0 is deleted
			return &f.slots[i], nil
		}
	}
	return nil, app.ErrSlotNotFound
}

func (f *fake) Slot(ctx context.Context, id int64) (app.Slot, error) {
	defer f.mu.Unlock()
	if err := f.enter(ctx); err != nil {
		return app.Slot{}, err
	}
	s, err := f.find(id)
	if err != nil {
		return app.Slot{}, err
	}
	return *s, nil
}

func (f *fake) Slots(ctx context.Context, q app.SlotQuery) ([]app.Slot, error) {
	defer f.mu.Unlock()
	if err := f.enter(ctx); err != nil {
		return nil, err
	}
	var out []app.Slot
	for _, s := range f.slots {
		behind := s.StartsAt.After(q.After.StartsAt) || s.StartsAt.Equal(q.After.StartsAt) && s.ID > q.After.ID
		if behind && (q.Resource == "" || q.Resource == s.Resource) && len(out) < q.Limit {
			out = append(out, s)
		}
	}
	return out, nil
}

func (f *fake) EditSlot(ctx context.Context, id, version int64, e app.SlotEdit) (app.Slot, error) {
	defer f.mu.Unlock()
	if err := f.enter(ctx); err != nil {
		return app.Slot{}, err
	}
	s, err := f.find(id)
	if err != nil {
		return app.Slot{}, err
	}
	if s.Version != version {
		return app.Slot{}, app.ErrVersionMismatch
	}
	if e.Capacity != nil && *e.Capacity < s.Reserved {
		return app.Slot{}, &app.CapacityBelowReservedError{Reserved: s.Reserved}
	}
	edited, err := e.Apply(*s)
	if err == nil {
		*s = edited
	}
	return edited, err
}

func (f *fake) DeleteSlot(ctx context.Context, id, version int64) error {
	defer f.mu.Unlock()
	if err := f.enter(ctx); err != nil {
		return err
	}
	s, err := f.find(id)
	switch {
	case err != nil:
		return err
	case version != 0 && version != s.Version:
		return app.ErrVersionMismatch
	case s.Reserved > 0:
		return app.ErrSlotHasReservations
	}
	s.Version = 0
	return nil
}

func (f *fake) Reserve(ctx context.Context, n app.NewReservation) (app.Reservation, error) {
	defer f.mu.Unlock()
	if err := f.enter(ctx); err != nil {
		return app.Reservation{}, err
	}
	return f.reserve(n)
}

func (f *fake) reserve(n app.NewReservation) (app.Reservation, error) {
	s, err := f.find(n.SlotID)
	if err != nil {
		return app.Reservation{}, err
	}
	if f.index(n.SlotID, n.UserID) >= 0 {
		return app.Reservation{}, app.ErrAlreadyReserved
	}
	if !n.AllowPast && s.StartsAt.Before(time.Now()) {
		return app.Reservation{}, app.ErrSlotStarted
	}
	if s.Available() < 1 {
		return app.Reservation{}, app.ErrSlotFull
	}
	s.Reserved++
	r := app.Reservation{ID: int64(len(f.places)) + 1, SlotID: n.SlotID, UserID: n.UserID, Status: app.Confirmed, CreatedAt: longAgo}
	if n.Hold > 0 {
		r.Status, r.ExpiresAt = app.Held, longAgo.Add(n.Hold)
	}
	f.places = append(f.places, r)
	return r, nil
}

func (f *fake) index(slotID int64, userID string) int {
	return slices.IndexFunc(f.places, func(r app.Reservation) bool { return r.SlotID == slotID && r.UserID == userID })
}

func (f *fake) ReserveAll(ctx context.Context, ns []app.NewReservation) ([]app.Reservation, error) {
	defer f.mu.Unlock()
	if err := f.enter(ctx); err != nil {
		return nil, err
	}
	var many app.ManyError
	var made []app.Reservation
	for i, n := range ns {
		r, err := f.reserve(n)
		if err != nil {
			many.Failures = append(many.Failures, app.Failure{Index: i, Err: err})
		}
		made = append(made, r)
	}
	if len(many.Failures) > 0 {
		return nil, fmt.Errorf("reserve: %w", &many)
	}
	return made, nil
}

func (f *fake) Reservation(ctx context.Context, slotID int64, userID string) (app.Reservation, error) {
	defer f.mu.Unlock()
	if err := f.enter(ctx); err != nil {
		return app.Reservation{}, err
	}
	if i := f.index(slotID, userID); i >= 0 {
		return f.places[i], nil
	}
	return app.Reservation{}, app.ErrReservationNotFound
}

func (f *fake) Reservations(ctx context.Context, slotID, after int64, limit int) ([]app.Reservation, error) {
	defer f.mu.Unlock()
	if err := f.enter(ctx); err != nil {
		return nil, err
	}
	if _, err := f.find(slotID); err != nil {
		return nil, err
	}
	var out []app.Reservation
	for _, r := range f.places {
		if r.SlotID == slotID && r.ID > after && len(out) < limit {
			out = append(out, r)
		}
	}
	return out, nil
}

func (f *fake) Confirm(ctx context.Context, slotID int64, userID string) (app.Reservation, error) {
	r, err := f.Reservation(ctx, slotID, userID)
	r.Status, r.ExpiresAt = app.Confirmed, time.Time{}
	return r, err
}

func (f *fake) Cancel(ctx context.Context, slotID int64, userID string) error {
	defer f.mu.Unlock()
	if err := f.enter(ctx); err != nil {
		return err
	}
	i := f.index(slotID, userID)
	if i < 0 {
		return app.ErrReservationNotFound
	}
	f.places = slices.Delete(f.places, i, i+1)
	s, err := f.find(slotID)
	if err == nil {
		s.Reserved--
	}
	return err
}

var errNoStore = errors.New("the disk is full of SQL")

func (f *fake) CreateResource(ctx context.Context, r app.Resource) (app.Resource, error) {
	defer f.mu.Unlock()
	if err := f.enter(ctx); err != nil {
		return r, err
	}
	if slices.ContainsFunc(f.resources, func(o app.Resource) bool { return o.Key == r.Key }) {
		return r, app.ErrResourceExists
	}
	r.ID = int64(len(f.resources)) + 1
	f.resources = append(f.resources, r)
	slices.SortFunc(f.resources, func(a, b app.Resource) int { return strings.Compare(a.Key, b.Key) })
	return r, nil
}

func (f *fake) Resource(ctx context.Context, key string) (app.Resource, error) {
	defer f.mu.Unlock()
	if err := f.enter(ctx); err != nil {
		return app.Resource{}, err
	}
	for _, r := range f.resources {
		if r.Key == key {
			return r, nil
		}
	}
	return app.Resource{}, app.ErrResourceNotFound
}
