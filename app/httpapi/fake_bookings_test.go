package httpapi

import (
	"context"

	"slotkeeper/app"
)

func (f *fake) Resources(ctx context.Context, after string, limit int) ([]app.Resource, error) {
	defer f.mu.Unlock()
	if err := f.enter(ctx); err != nil {
		return nil, err
	}
	var out []app.Resource
	for _, r := range f.resources {
		if r.Key > after && len(out) < limit {
			out = append(out, r)
		}
	}
	return out, nil
}

func (f *fake) Book(ctx context.Context, ns []app.NewBooking) ([]app.Booking, error) {
	defer f.mu.Unlock()
	if err := f.enter(ctx); err != nil {
		return nil, err
	}
	var many app.ManyError
	var made []app.Booking
	for i, n := range ns {
		b, err := f.bookable(n)
		if err != nil {
			many.Failures = append(many.Failures, app.Failure{Index: i, Err: err})
			continue
		}
		b.ID = int64(len(f.bookings)+len(made)) + 1
		made = append(made, b)
	}
	if len(many.Failures) > 0 {
		return nil, &many
	}
	f.bookings = append(f.bookings, made...)
	return made, nil
}

func (f *fake) bookable(n app.NewBooking) (app.Booking, error) {
	b := app.Booking{Resource: n.Resource, UserID: n.UserID, StartsAt: n.StartsAt, EndsAt: n.EndsAt, Status: app.Confirmed, CreatedAt: longAgo}
	if n.Hold > 0 {
		b.Status, b.ExpiresAt = app.Held, longAgo.Add(n.Hold)
	}
	for _, r := range f.resources {
		if r.Key != n.Resource {
			continue
		}
		if b.Kind = r.Kind; n.Kind != "" && n.Kind != r.Kind {
			return b, &app.ValidationError{Fields: []app.FieldError{{Field: "resource", Detail: "is a " + string(r.Kind)}}}
		}
	}
	if b.Kind == "" {
		return b, app.ErrResourceNotFound
	}
	for _, o := range f.bookings {
		if o.Status != "" && o.Resource == n.Resource && o.StartsAt.Before(n.EndsAt) && n.StartsAt.Before(o.EndsAt) {
			return b, app.ErrResourceBusy
		}
	}
	return b, nil
}

func (f *fake) Bookings(ctx context.Context, q app.BookingQuery) ([]app.Booking, error) {
	if _, err := f.Resource(ctx, q.Resource); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []app.Booking
	for _, b := range f.bookings {
		behind := b.StartsAt.After(q.After.StartsAt) || b.StartsAt.Equal(q.After.StartsAt) && b.ID > q.After.ID
		if b.Resource == q.Resource && behind && len(out) < q.Limit {
			out = append(out, b)
		}
	}
	return out, nil
}

func (f *fake) ConfirmBooking(ctx context.Context, id int64) (app.Booking, error) {
	defer f.mu.Unlock()
	if err := f.enter(ctx); err != nil {
		return app.Booking{}, err
	}
	for _, b := range f.bookings {
		if b.ID == id && b.Status == app.Held {
			return app.Booking{}, app.ErrHoldExpired // its holds ended long ago
		}
		if b.ID == id && b.Status != "" {
			return b, nil
		}
	}
	return app.Booking{}, app.ErrBookingNotFound
}

func (f *fake) CancelBooking(ctx context.Context, id int64) error {
	defer f.mu.Unlock()
	if err := f.enter(ctx); err != nil {
		return err
	}
	for i := range f.bookings {
		if f.bookings[i].ID == id && f.bookings[i].Status != "" {
			f.bookings[i].Status = "" // gone
			return nil
		}
	}
	return app.ErrBookingNotFound
}

func (f *fake) FreeRanges(ctx context.Context, q app.FreeQuery) ([]app.Range, error) {
	if _, err := f.Resource(ctx, q.Resource); err != nil {
		return nil, err
	}
	return []app.Range{{From: q.From, To: q.To}}, nil
}
