package sqlserver

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"slotkeeper/app"
)

// Book implements app.Store. The batch locks the resources, ascending, looks
// which items are taken, to name them, and inserts if none is; the trigger (and
// with ByNights the unique index) judges.
func (s *Store) Book(ctx context.Context, bs []app.NewBooking) ([]app.Booking, error) {
	if s.nights {
		if err := wholeDays(bs); err != nil {
			return nil, err
		}
	}
	items, err := bookingItems(bs)
	if err != nil {
		return nil, err
	}
	known, busy := map[string]app.Resource{}, map[int]bool{}
	booked := make([]app.Booking, len(bs))
	err = s.write(ctx, "book", args{"items_json": items, "nights": s.nights}, func(rows *sql.Rows) error {
		var i int
		var r app.Resource
		var taken bool
		var id int64
		var created, expires sql.NullTime
		if err := rows.Scan(&i, &r.ID, &r.Kind, &taken, &id, &created, &expires); err != nil {
			return err
		}
		if r.ID != 0 {
			known[bs[i].Resource] = r
		}
		busy[i] = taken
		booked[i] = booking(id, bs[i], r.Kind, created, expires)
		return nil
	})
	if errors.Is(err, app.ErrResourceBusy) {
		return nil, busySince(bs, err)
	}
	if err != nil {
		return nil, err
	}
	if err := app.JudgeBookings(bs, known, busy); err != nil {
		return nil, err
	}
	return booked, nil
}

// busySince handles a refusal that the look before it did not foresee: another
// program took a resource without its lock. Of several items one cannot say
// which; the next try will see it.
func busySince(bs []app.NewBooking, cause error) error {
	if len(bs) > 1 {
		return fmt.Errorf("%w: %w", app.ErrTransient, cause)
	}
	return &app.ManyError{Failures: []app.Failure{{Index: 0, Err: cause}}}
}

// wholeDays refuses what rows of nights cannot say.
func wholeDays(bs []app.NewBooking) error {
	midnight := func(t time.Time) bool { return t.Equal(t.UTC().Truncate(24 * time.Hour)) }
	var failures []app.Failure
	for i, b := range bs {
		var bad []app.FieldError
		if !midnight(b.StartsAt) {
			bad = append(bad, app.FieldError{Field: "starts_at", Detail: "must be midnight in UTC: this resource is taken by whole days"})
		}
		if !midnight(b.EndsAt) || b.EndsAt.Sub(b.StartsAt) > maxNights*24*time.Hour {
			bad = append(bad, app.FieldError{Field: "ends_at", Detail: fmt.Sprintf("must be midnight in UTC, at most %d days later", maxNights)})
		}
		if bad != nil {
			failures = append(failures, app.Failure{Index: i, Err: &app.ValidationError{Fields: bad}})
		}
	}
	if failures == nil {
		return nil
	}
	return &app.ManyError{Failures: failures}
}

const maxNights = 10_000 // what book.sql counts to

// bookingItems writes what OPENJSON reads in book.sql.
func bookingItems(bs []app.NewBooking) (string, error) {
	type item struct {
		I    int       `json:"i"`
		Key  string    `json:"key"`
		Kind app.Kind  `json:"kind"`
		User string    `json:"user"`
		From time.Time `json:"from"`
		To   time.Time `json:"to"`
		Hold int64     `json:"hold"`
	}
	items := make([]item, len(bs))
	for i, b := range bs {
		items[i] = item{i, b.Resource, b.Kind, b.UserID, b.StartsAt.UTC(), b.EndsAt.UTC(), seconds(b.Hold)}
	}
	text, err := json.Marshal(items)
	return string(text), err
}

func booking(id int64, b app.NewBooking, kind app.Kind, created, expires sql.NullTime) app.Booking {
	made := app.Booking{ID: id, Resource: b.Resource, Kind: kind, UserID: b.UserID, StartsAt: b.StartsAt.UTC(), EndsAt: b.EndsAt.UTC(),
		Status: app.Confirmed, CreatedAt: utc(created)}
	if expires.Valid {
		made.Status, made.ExpiresAt = app.Held, utc(expires)
	}
	return made
}

// scanBooking scans into before, then id, key, kind, user, start, end, status,
// created, expires; the id is 0 where all of them are NULL.
func scanBooking(rows *sql.Rows, before ...any) (app.Booking, error) {
	var id sql.NullInt64
	var key, kind, user, status sql.NullString
	var starts, ends, created, expires sql.NullTime
	err := rows.Scan(append(before, &id, &key, &kind, &user, &starts, &ends, &status, &created, &expires)...)
	return app.Booking{ID: id.Int64, Resource: key.String, Kind: app.Kind(kind.String), UserID: user.String, StartsAt: utc(starts),
		EndsAt: utc(ends), Status: app.Status(status.String), CreatedAt: utc(created), ExpiresAt: utc(expires)}, err
}

// Bookings implements app.Store.
func (s *Store) Bookings(ctx context.Context, q app.BookingQuery) ([]app.Booking, error) {
	from, to := between(q.From, q.To)
	exists, found := false, []app.Booking{}
	err := s.read(ctx, "booking_list", args{
		"resource": q.Resource, "from": from, "to": to, "after_start": q.After.StartsAt, "after_id": q.After.ID, "limit": q.Limit,
	}, func(rows *sql.Rows) error {
		b, err := scanBooking(rows)
		if exists = true; b.ID != 0 {
			found = append(found, b)
		}
		return err
	})
	if err == nil && !exists {
		err = app.ErrResourceNotFound
	}
	return found, err
}

// ConfirmBooking implements app.Store.
func (s *Store) ConfirmBooking(ctx context.Context, id int64) (b app.Booking, err error) {
	var word string
	err = s.write(ctx, "booking_confirm", args{"id": id}, func(rows *sql.Rows) (err error) {
		b, err = scanBooking(rows, &word)
		return err
	})
	if err == nil {
		err = refused(word, app.ErrBookingNotFound)
	}
	if err != nil {
		return app.Booking{}, err
	}
	return b, nil
}

// CancelBooking implements app.Store.
func (s *Store) CancelBooking(ctx context.Context, id int64) error {
	var word string
	if err := s.write(ctx, "booking_cancel", args{"id": id}, one(&word)); err != nil {
		return err
	}
	return refused(word, app.ErrBookingNotFound)
}

// FreeRanges implements app.Store.
func (s *Store) FreeRanges(ctx context.Context, q app.FreeQuery) ([]app.Range, error) {
	exists, free := false, []app.Range{}
	err := s.read(ctx, "free_ranges", args{"resource": q.Resource, "from": q.From, "to": q.To, "minimum": q.Minimum.Microseconds()},
		func(rows *sql.Rows) error {
			var from, to sql.NullTime
			if err := rows.Scan(&from, &to); err != nil {
				return err
			}
			if exists = true; from.Valid {
				free = append(free, app.Range{From: utc(from), To: utc(to)})
			}
			return nil
		})
	if err == nil && !exists {
		err = app.ErrResourceNotFound
	}
	return free, err
}
