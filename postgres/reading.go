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
	v := newView(ops)
	rows, err := s.pool.Query(ctx, query("scene"), v.slots, v.slotIDs, v.userIDs)
	if err != nil {
		return nil, translate(err)
	}
	if err := v.read(rows); err != nil {
		return nil, translate(err)
	}
	refusals := app.Refuse(v.Scene, ops)
	for i, op := range ops {
		if v.due[op.SlotID] { // who looks may not expire the hold that decides
			refusals[i] = nil
		}
	}
	return refusals, nil
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
