package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"slotkeeper/app"
)

// Peek implements app.Batcher.
func (s *Store) Peek(ctx context.Context, ops []app.Op) ([]error, error) {
	slotIDs, userIDs := places(ops)
	sc := app.Scene{Slots: map[int64]app.Slot{}, Live: map[app.Place]app.Reservation{}}
	rows, err := s.pool.Query(ctx, query("peek"), slotIDs, userIDs, distinct(slotIDs))
	if err != nil {
		return nil, translate(err)
	}
	var kind int
	var slot app.Slot
	var userID string
	var starts, now pgtype.Timestamptz
	_, err = pgx.ForEachRow(rows, []any{&kind, &slot.ID, &userID, &starts, &slot.Capacity, &slot.Reserved, &now}, func() error {
		if kind == 1 {
			sc.Live[app.Place{SlotID: slot.ID, UserID: userID}] = app.Reservation{}
			return nil
		}
		slot.StartsAt, sc.Now = starts.Time, now.Time
		sc.Slots[slot.ID] = slot
		return nil
	})
	if err != nil {
		return nil, translate(err)
	}
	return app.Refuse(sc, ops), nil
}

// Reservation implements app.Store.
func (s *Store) Reservation(ctx context.Context, slotID int64, userID string) (app.Reservation, error) {
	rs, err := s.reservations(ctx, query("reservation_get"), slotID, userID)
	if err == nil && len(rs) == 0 {
		err = app.ErrReservationNotFound
	}
	if err != nil {
		return app.Reservation{}, err
	}
	return rs[0], nil
}

// Reservations implements app.Store.
func (s *Store) Reservations(ctx context.Context, slotID, after int64, limit int) ([]app.Reservation, error) {
	return s.reservations(ctx, query("reservation_list"), slotID, after, limit)
}

// reservations reads rows of which at least one comes where the slot exists.
func (s *Store) reservations(ctx context.Context, sql string, args ...any) ([]app.Reservation, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, translate(err)
	}
	var rs []app.Reservation
	n, err := eachReservation(rows, func(r app.Reservation) { rs = append(rs, r) })
	if err != nil {
		return nil, translate(err)
	}
	if n == 0 {
		return nil, app.ErrSlotNotFound
	}
	return rs, nil
}

// eachReservation scans (id, slot_id, user_id, status, created_at, expires_at)
// and counts the rows, those without a reservation too.
func eachReservation(rows pgx.Rows, each func(app.Reservation)) (n int, err error) {
	var id *int64
	var slotID int64
	var userID, status *string
	var created, expires pgtype.Timestamptz
	_, err = pgx.ForEachRow(rows, []any{&id, &slotID, &userID, &status, &created, &expires}, func() error {
		n++
		if id != nil {
			each(app.Reservation{
				ID: *id, SlotID: slotID, UserID: *userID, Status: app.Status(*status),
				CreatedAt: created.Time.UTC(), ExpiresAt: utc(expires),
			})
		}
		return nil
	})
	return n, err
}

func utc(t pgtype.Timestamptz) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return t.Time.UTC()
}
