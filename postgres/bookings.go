package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"slotkeeper/app"
)

// CreateResource implements app.Store.
func (s *Store) CreateResource(ctx context.Context, r app.Resource) (app.Resource, error) {
	err := s.tx(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, query("resource_create"), r.Key, r.Name, string(r.Kind)).Scan(&r.ID)
	})
	return r, err
}

// Resource implements app.Store.
func (s *Store) Resource(ctx context.Context, key string) (app.Resource, error) {
	var r app.Resource
	err := s.pool.QueryRow(ctx, query("resource_get"), key).Scan(&r.ID, &r.Key, &r.Name, &r.Kind)
	return r, rowOr(err, app.ErrResourceNotFound)
}

// Resources implements app.Store.
func (s *Store) Resources(ctx context.Context, after string, limit int) ([]app.Resource, error) {
	rows, err := s.pool.Query(ctx, query("resource_list"), after, limit)
	if err != nil {
		return nil, translate(err)
	}
	rs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r app.Resource, err error) {
		return r, row.Scan(&r.ID, &r.Key, &r.Name, &r.Kind)
	})
	return rs, translate(err)
}

// lockResources locks the resources by ascending id and frees what has expired
// on them. Keys that do not exist are missing in the answer.
func lockResources(ctx context.Context, tx pgx.Tx, keys []string) (map[string]app.Resource, error) {
	rows, err := tx.Query(ctx, query("resource_lock"), keys)
	if err != nil {
		return nil, err
	}
	locked := map[string]app.Resource{}
	var ids []int64
	var r app.Resource
	_, err = pgx.ForEachRow(rows, []any{&r.ID, &r.Key, &r.Kind}, func() error {
		locked[r.Key], ids = r, append(ids, r.ID)
		return nil
	})
	if err == nil && len(ids) > 0 {
		_, err = tx.Exec(ctx, query("expire_bookings"), ids)
	}
	return locked, err
}

// Book implements app.Store. Every writer of a range changes or locks the
// resource's row first, so what is found free under that lock stays free; the
// exclusion constraint remains the guarantee.
func (s *Store) Book(ctx context.Context, bs []app.NewBooking) (booked []app.Booking, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		keys := make([]string, len(bs))
		for i, b := range bs {
			keys[i] = b.Resource
		}
		locked, err := lockResources(ctx, tx, keys)
		if err != nil {
			return err
		}
		busy, err := conflicts(ctx, tx, locked, bs)
		if err != nil {
			return err
		}
		if err := app.JudgeBookings(bs, locked, busy); err != nil {
			return err
		}
		booked = make([]app.Booking, 0, len(bs))
		for i, b := range bs {
			made, err := insertBooking(ctx, tx, locked[b.Resource], b)
			if busy := translate(err); errors.Is(busy, app.ErrResourceBusy) {
				return &app.ManyError{Failures: []app.Failure{{Index: i, Err: busy}}}
			}
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
func conflicts(ctx context.Context, tx pgx.Tx, locked map[string]app.Resource, bs []app.NewBooking) (map[int]bool, error) {
	ids := make([]int64, len(bs)) // 0, which no resource has, where the key is unknown
	starts, ends := make([]pgtype.Timestamptz, len(bs)), make([]pgtype.Timestamptz, len(bs))
	for i, b := range bs {
		ids[i] = locked[b.Resource].ID
		starts[i] = pgtype.Timestamptz{Time: b.StartsAt, Valid: true}
		ends[i] = pgtype.Timestamptz{Time: b.EndsAt, Valid: true}
	}
	rows, err := tx.Query(ctx, query("booking_conflicts"), ids, starts, ends)
	if err != nil {
		return nil, err
	}
	busy := map[int]bool{}
	var at int
	_, err = pgx.ForEachRow(rows, []any{&at}, func() error { busy[at] = true; return nil })
	return busy, err
}

func insertBooking(ctx context.Context, tx pgx.Tx, r app.Resource, b app.NewBooking) (app.Booking, error) {
	made := app.Booking{Resource: r.Key, Kind: r.Kind, UserID: b.UserID, StartsAt: b.StartsAt, EndsAt: b.EndsAt}
	var expires pgtype.Timestamptz
	err := tx.QueryRow(ctx, query("booking_create"), r.ID, string(r.Kind), b.UserID, b.StartsAt, b.EndsAt, int(b.Hold.Seconds())).
		Scan(&made.ID, &made.Status, &made.CreatedAt, &expires)
	made.CreatedAt, made.ExpiresAt = made.CreatedAt.UTC(), utc(expires)
	return made, err
}

// Bookings implements app.Store.
func (s *Store) Bookings(ctx context.Context, q app.BookingQuery) ([]app.Booking, error) {
	rows, err := s.pool.Query(ctx, query("booking_list"), q.Resource,
		timeOr(q.From, pgtype.NegativeInfinity), timeOr(q.To, pgtype.Infinity),
		timeOr(q.After.StartsAt, pgtype.NegativeInfinity), q.After.ID, q.Limit)
	if err != nil {
		return nil, translate(err)
	}
	defer rows.Close()
	found, list := false, []app.Booking{}
	for rows.Next() {
		found = true
		b, err := scanBooking(rows)
		if err != nil {
			return nil, translate(err)
		}
		if b.ID != 0 {
			list = append(list, b)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, translate(err)
	}
	if !found {
		return nil, app.ErrResourceNotFound
	}
	return list, nil
}

// scanBooking scans (id, key, kind, user_id, starts_at, ends_at, status,
// created_at, expires_at) and more; ID is 0 where the row has no booking.
func scanBooking(row pgx.Row, more ...any) (app.Booking, error) {
	var b app.Booking
	var id *int64
	var userID, status *string
	var starts, ends, created, expires pgtype.Timestamptz
	err := row.Scan(append([]any{&id, &b.Resource, &b.Kind, &userID, &starts, &ends, &status, &created, &expires}, more...)...)
	if err != nil || id == nil {
		return b, err
	}
	b.ID, b.UserID, b.Status = *id, *userID, app.Status(*status)
	b.StartsAt, b.EndsAt, b.CreatedAt, b.ExpiresAt = utc(starts), utc(ends), utc(created), utc(expires)
	return b, nil
}

// ConfirmBooking implements app.Store.
func (s *Store) ConfirmBooking(ctx context.Context, id int64) (b app.Booking, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, query("booking_confirm"), id); err != nil {
			return err
		}
		var expired bool
		b, err = scanBooking(tx.QueryRow(ctx, query("booking_get"), id), &expired)
		switch {
		case err != nil:
			return rowOr(err, app.ErrBookingNotFound)
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
	return s.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, query("booking_cancel"), id)
		if err == nil && tag.RowsAffected() == 0 {
			err = app.ErrBookingNotFound
		}
		return err
	})
}

// FreeRanges implements app.Store.
func (s *Store) FreeRanges(ctx context.Context, q app.FreeQuery) ([]app.Range, error) {
	rows, err := s.pool.Query(ctx, query("free_ranges"), q.Resource, q.From, q.To, interval(q.Minimum))
	if err != nil {
		return nil, translate(err)
	}
	var from, to pgtype.Timestamptz
	found, free := false, []app.Range{}
	_, err = pgx.ForEachRow(rows, []any{&from, &to}, func() error {
		if found = true; from.Valid {
			free = append(free, app.Range{From: from.Time.UTC(), To: to.Time.UTC()})
		}
		return nil
	})
	if err == nil && !found {
		err = app.ErrResourceNotFound
	}
	return free, translate(err)
}
