package app

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ResourcePage is one page of resources; Next is the key behind which the
// following one begins, "" on the last page.
type ResourcePage struct {
	Items []Resource
	Next  string
}

// BookingPage is one page of bookings, as SlotPage.
type BookingPage struct {
	Items []Booking
	Next  *SlotCursor
}

// CreateResource stores a resource. Errors: *ValidationError, ErrResourceExists.
func (s *Service) CreateResource(ctx context.Context, r Resource) (Resource, error) {
	r, err := r.normalize()
	if err != nil {
		return Resource{}, err
	}
	return once(ctx, s, func(ctx context.Context) (Resource, error) { return s.store.CreateResource(ctx, r) })
}

// Resource returns a resource by its key. Errors: ErrResourceNotFound.
func (s *Service) Resource(ctx context.Context, key string) (Resource, error) {
	key, problem := normalizeText(key)
	if problem != "" {
		return Resource{}, ErrResourceNotFound
	}
	return read(ctx, s, func(ctx context.Context) (Resource, error) { return s.store.Resource(ctx, key) })
}

// Resources returns a page of resources by key, behind the key after.
func (s *Service) Resources(ctx context.Context, after string, limit int) (ResourcePage, error) {
	limit = pageSize(limit)
	items, err := read(ctx, s, func(ctx context.Context) ([]Resource, error) {
		return s.store.Resources(ctx, after, limit+1)
	})
	page := ResourcePage{Items: items}
	if len(items) > limit {
		page.Items = items[:limit]
		page.Next = page.Items[limit-1].Key
	}
	return page, err
}

// Book takes one resource for a range. Errors: *ValidationError,
// ErrResourceNotFound, ErrResourceBusy.
func (s *Service) Book(ctx context.Context, b NewBooking) (Booking, error) {
	b, err := b.normalize()
	if err != nil {
		return Booking{}, err
	}
	booked, err := s.book(ctx, []NewBooking{b})
	var many *ManyError
	if errors.As(err, &many) {
		return Booking{}, many.Failures[0].Err
	}
	if err != nil {
		return Booking{}, err
	}
	return booked[0], nil
}

// BookAll takes 1 to MaxTogether resources, or none of them. Errors:
// *ValidationError with fields "resources/N", *ManyError over the errors of Book.
func (s *Service) BookAll(ctx context.Context, bs []NewBooking) ([]Booking, error) {
	var bad fieldErrors
	if len(bs) < 1 || len(bs) > MaxTogether {
		bad.add("resources", fmt.Sprintf("must name 1 to %d resources", MaxTogether))
	}
	out := make([]NewBooking, len(bs))
	first := map[string]int{}
	for i, b := range bs {
		n, err := b.normalize()
		var invalid *ValidationError
		if errors.As(err, &invalid) {
			bad.ofItem(i, invalid)
		}
		if at, twice := first[n.Resource]; twice {
			bad.add(fmt.Sprintf("resources/%d", i), fmt.Sprintf("names the same resource as resources/%d", at))
		} else {
			first[n.Resource] = i
		}
		out[i] = n
	}
	if err := bad.err(); err != nil {
		return nil, err
	}
	return s.book(ctx, out)
}

// ofItem adds the errors of item i; what all items share (who, when) is said
// once, with the first.
func (bad *fieldErrors) ofItem(i int, e *ValidationError) {
	for _, f := range e.Fields {
		switch {
		case f.Field == "resource":
			bad.add(fmt.Sprintf("resources/%d", i), f.Detail)
		case i == 0:
			bad.add(f.Field, f.Detail)
		}
	}
}

func (s *Service) book(ctx context.Context, bs []NewBooking) ([]Booking, error) {
	ctx, leave, err := s.enter(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer leave()
	return once(ctx, s, func(ctx context.Context) ([]Booking, error) { return s.store.Book(ctx, bs) })
}

// Bookings returns a page of a resource's live bookings that overlap
// [q.From, q.To). Errors: ErrResourceNotFound.
func (s *Service) Bookings(ctx context.Context, q BookingQuery) (BookingPage, error) {
	key, problem := normalizeText(q.Resource)
	if problem != "" {
		return BookingPage{}, ErrResourceNotFound
	}
	limit := pageSize(q.Limit)
	q.Resource, q.Limit = key, limit+1
	items, err := read(ctx, s, func(ctx context.Context) ([]Booking, error) { return s.store.Bookings(ctx, q) })
	page := BookingPage{Items: items}
	if len(items) > limit {
		page.Items = items[:limit]
		last := page.Items[limit-1]
		page.Next = &SlotCursor{last.StartsAt, last.ID}
	}
	return page, err
}

// ConfirmBooking turns a hold into a booking. Errors: ErrBookingNotFound,
// ErrHoldExpired.
func (s *Service) ConfirmBooking(ctx context.Context, id int64) (Booking, error) {
	return read(ctx, s, func(ctx context.Context) (Booking, error) { return s.store.ConfirmBooking(ctx, id) })
}

// CancelBooking frees the range at once. Errors: ErrBookingNotFound.
func (s *Service) CancelBooking(ctx context.Context, id int64) error {
	_, err := retry(ctx, s, func(ctx context.Context, again bool) (struct{}, error) {
		err := s.store.CancelBooking(ctx, id)
		if again && errors.Is(err, ErrBookingNotFound) {
			err = nil // the try before this one did it
		}
		return struct{}{}, err
	})
	return err
}

// FreeRanges returns the free ranges of at least q.Minimum (a minute if 0)
// within [q.From, q.To). Errors: *ValidationError, ErrResourceNotFound.
func (s *Service) FreeRanges(ctx context.Context, q FreeQuery) ([]Range, error) {
	key, problem := normalizeText(q.Resource)
	if problem != "" {
		return nil, ErrResourceNotFound
	}
	if q.Resource = key; q.Minimum == 0 {
		q.Minimum = time.Minute
	}
	q, err := q.normalize()
	if err != nil {
		return nil, err
	}
	return read(ctx, s, func(ctx context.Context) ([]Range, error) { return s.store.FreeRanges(ctx, q) })
}
