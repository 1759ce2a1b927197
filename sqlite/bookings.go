package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"slotkeeper/app"
)

// CreateResource implements app.Store.
func (s *Store) CreateResource(ctx context.Context, r app.Resource) (app.Resource, error) {
	err := s.writer.QueryRowContext(ctx, query("resource_create"), r.Key, r.Name, r.Kind).Scan(&r.ID)
	return r, rowOr(err, app.ErrResourceExists)
}

// Resource implements app.Store.
func (s *Store) Resource(ctx context.Context, key string) (app.Resource, error) {
	var r app.Resource
	err := s.readers.QueryRowContext(ctx, query("resource_get"), key).Scan(&r.ID, &r.Key, &r.Name, &r.Kind)
	return r, rowOr(err, app.ErrResourceNotFound)
}

// Resources implements app.Store.
func (s *Store) Resources(ctx context.Context, after string, limit int) ([]app.Resource, error) {
	rs := []app.Resource{}
	var r app.Resource
	err := each(ctx, s.readers, query("resource_list"), []any{after, limit},
		[]any{&r.ID, &r.Key, &r.Name, &r.Kind}, func() { rs = append(rs, r) })
	return rs, translate(err)
}

// claimResources reads the resources and frees what has expired on them. Keys
// that do not exist are missing in the answer.
func claimResources(ctx context.Context, tx *sql.Tx, keys []string) (map[string]app.Resource, error) {
	known := map[string]app.Resource{}
	ids := []int64{}
	var r app.Resource
	err := each(ctx, tx, query("resource_lock"), []any{list(keys)}, []any{&r.ID, &r.Key, &r.Kind}, func() {
		known[r.Key] = r
		ids = append(ids, r.ID)
	})
	if err == nil {
		_, err = tx.ExecContext(ctx, query("expire_bookings"), list(ids))
	}
	return known, err
}

// Book implements app.Store. The transaction has the write lock, so what it
// finds free stays free; the triggers remain the guarantee.
func (s *Store) Book(ctx context.Context, bs []app.NewBooking) (booked []app.Booking, err error) {
	err = s.tx(ctx, func(tx *sql.Tx) error {
		keys := make([]string, len(bs))
		for i, b := range bs {
			keys[i] = b.Resource
		}
		known, err := claimResources(ctx, tx, keys)
		if err != nil {
			return err
		}
		busy, err := conflicts(ctx, tx, known, bs)
		if err != nil {
			return err
		}
		if err := app.JudgeBookings(bs, known, busy); err != nil {
			return err
		}
		booked = make([]app.Booking, 0, len(bs))
		for _, b := range bs {
			made, err := insertBooking(ctx, tx, known[b.Resource], b)
			if err != nil {
				return err
			}
			booked = append(booked, made)
		}
		return nil
	})
	return booked, err
}

// conflicts returns the positions in bs that are taken already.
func conflicts(ctx context.Context, tx *sql.Tx, known map[string]app.Resource, bs []app.NewBooking) (map[int]bool, error) {
	ranges := make([][3]int64, len(bs)) // id 0, which no resource has, where the key is unknown
	for i, b := range bs {
		ranges[i] = [3]int64{known[b.Resource].ID, b.StartsAt.UnixMicro(), b.EndsAt.UnixMicro()}
	}
	busy := map[int]bool{}
	var at int
	err := each(ctx, tx, query("booking_conflicts"), []any{list(ranges)}, []any{&at}, func() { busy[at] = true })
	return busy, err
}

func insertBooking(ctx context.Context, tx *sql.Tx, r app.Resource, b app.NewBooking) (app.Booking, error) {
	made := app.Booking{Resource: r.Key, Kind: r.Kind, UserID: b.UserID, StartsAt: b.StartsAt, EndsAt: b.EndsAt}
	var created, expires micros
	err := tx.QueryRowContext(ctx, query("booking_create"), r.ID, r.Kind, b.UserID,
		b.StartsAt.UnixMicro(), b.EndsAt.UnixMicro(), b.Hold.Microseconds()).
		Scan(&made.ID, &made.Status, &created, &expires)
	made.CreatedAt, made.ExpiresAt = created.time(), expires.time()
	return made, err
}

// Bookings implements app.Store.
func (s *Store) Bookings(ctx context.Context, q app.BookingQuery) ([]app.Booking, error) {
	rows, err := s.readers.QueryContext(ctx, query("booking_list"), q.Resource,
		microsOr(q.From, math.MinInt64), microsOr(q.To, math.MaxInt64),
		microsOr(q.After.StartsAt, math.MinInt64), q.After.ID, q.Limit)
	if err != nil {
		return nil, translate(err)
	}
	defer rows.Close()
	found, bs := false, []app.Booking{}
	for rows.Next() {
		found = true
		b, err := scanBooking(rows)
		if err != nil {
			return nil, translate(err)
		}
		if b.ID != 0 {
			bs = append(bs, b)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, translate(err)
	}
	if !found {
		return nil, app.ErrResourceNotFound
	}
	return bs, nil
}

// scanBooking scans (id, key, kind, user_id, starts_at, ends_at, status,
// created_at, expires_at) and more; ID is 0 where the row has no booking.
func scanBooking(row scanner, more ...any) (app.Booking, error) {
	var b app.Booking
	var id sql.NullInt64
	var userID, status sql.NullString
	var starts, ends, created, expires micros
	err := row.Scan(append([]any{&id, &b.Resource, &b.Kind, &userID, &starts, &ends, &status, &created, &expires}, more...)...)
	b.ID, b.UserID, b.Status = id.Int64, userID.String, app.Status(status.String)
	b.StartsAt, b.EndsAt, b.CreatedAt, b.ExpiresAt = starts.time(), ends.time(), created.time(), expires.time()
	return b, err
}

// ConfirmBooking implements app.Store.
func (s *Store) ConfirmBooking(ctx context.Context, id int64) (b app.Booking, err error) {
	err = s.tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, query("booking_confirm"), id); err != nil {
			return err
		}
		var expired bool
		b, err = scanBooking(tx.QueryRowContext(ctx, query("booking_get"), id), &expired)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return app.ErrBookingNotFound
		case err != nil:
			return err
		case expired:
			return app.ErrHoldExpired
		case b.Status != app.Confirmed:
			return fmt.Errorf("%w: it is %s", app.ErrBookingNotFound, b.Status)
		}
		return nil
	})
	return b, err
}

// CancelBooking implements app.Store.
func (s *Store) CancelBooking(ctx context.Context, id int64) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, query("booking_cancel"), id)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(app.ErrBookingNotFound, err)
		}
		return nil
	})
}

// FreeRanges implements app.Store.
func (s *Store) FreeRanges(ctx context.Context, q app.FreeQuery) ([]app.Range, error) {
	found, free := false, []app.Range{}
	var from, to micros
	args := []any{q.Resource, q.From.UnixMicro(), q.To.UnixMicro(), q.Minimum.Microseconds()}
	err := each(ctx, s.readers, query("free_ranges"), args, []any{&from, &to}, func() {
		if found = true; from.Valid {
			free = append(free, app.Range{From: from.time(), To: to.time()})
		}
	})
	if err == nil && !found {
		err = app.ErrResourceNotFound
	}
	return free, translate(err)
}
