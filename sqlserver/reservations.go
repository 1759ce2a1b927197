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

// Reserve implements app.Store. The batch takes the slot's lock before it
// inserts, so that the trigger finds the lock its own.
func (s *Store) Reserve(ctx context.Context, r app.NewReservation) (app.Reservation, error) {
	if s.served != nil && r.Hold > 0 {
		return app.Reservation{}, fmt.Errorf("%w: no column says when a hold ends", app.ErrUnsupported)
	}
	var word string
	var id int64
	var created, expires sql.NullTime
	err := s.write(ctx, "reserve", args{
		"slot_id": r.SlotID, "user_id": r.UserID, "hold": seconds(r.Hold), "allow_past": r.AllowPast,
		"created_at": optional(r.CreatedAt),
	}, one(&word, &id, &created, &expires))
	if err == nil {
		err = refused(word, app.ErrSlotNotFound)
	}
	if err != nil {
		return app.Reservation{}, err
	}
	return reservation(id, r, created, expires), nil
}

func reservation(id int64, r app.NewReservation, created, expires sql.NullTime) app.Reservation {
	made := app.Reservation{ID: id, SlotID: r.SlotID, UserID: r.UserID, Status: app.Confirmed, CreatedAt: utc(created)}
	if expires.Valid {
		made.Status, made.ExpiresAt = app.Held, utc(expires)
	}
	return made
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

// ReserveAll implements app.Store. The trigger names one full slot and ends the
// transaction, so a second look, which decides nothing, says which others
// failed.
func (s *Store) ReserveAll(ctx context.Context, rs []app.NewReservation) ([]app.Reservation, error) {
	items, err := reservationItems(rs)
	if err != nil {
		return nil, err
	}
	made := make([]app.Reservation, len(rs))
	failed := false
	err = s.write(ctx, "reserve_all", args{"items_json": items}, func(rows *sql.Rows) error {
		var i int
		var word string
		var id int64
		var created, expires sql.NullTime
		if err := rows.Scan(&i, &word, &id, &created, &expires); err != nil {
			return err
		}
		failed = failed || word != ""
		made[i] = reservation(id, rs[i], created, expires)
		return nil
	})
	if failed || errors.Is(err, app.ErrSlotFull) || errors.Is(err, app.ErrAlreadyReserved) {
		return nil, s.explain(ctx, items, err)
	}
	if err != nil {
		return nil, err
	}
	return made, nil
}

// explain says why each of the items cannot be. Where all could by now, the
// request may be made again.
func (s *Store) explain(ctx context.Context, items string, cause error) error {
	var failures []app.Failure
	err := s.read(ctx, "reserve_refusals", args{"items_json": items}, func(rows *sql.Rows) error {
		var i int
		var word string
		if err := rows.Scan(&i, &word); err != nil {
			return err
		}
		if err := refused(word, app.ErrSlotNotFound); err != nil {
			failures = append(failures, app.Failure{Index: i, Err: err})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if failures == nil {
		return errors.Join(fmt.Errorf("%w: what was refused is free by now", app.ErrTransient), cause)
	}
	return &app.ManyError{Failures: failures}
}

// reservationItems writes what OPENJSON reads in reserve_all.sql.
func reservationItems(rs []app.NewReservation) (string, error) {
	type item struct {
		I    int        `json:"i"`
		Slot int64      `json:"slot"`
		User string     `json:"user"`
		Hold int64      `json:"hold"`
		Past bool       `json:"past"`
		At   *time.Time `json:"at,omitempty"`
	}
	items := make([]item, len(rs))
	for i, r := range rs {
		items[i] = item{I: i, Slot: r.SlotID, User: r.UserID, Hold: seconds(r.Hold), Past: r.AllowPast}
		if !r.CreatedAt.IsZero() {
			at := r.CreatedAt.UTC()
			items[i].At = &at
		}
	}
	b, err := json.Marshal(items)
	return string(b), err
}

// eachReservation scans rows of id, user, status, created, expires. The id is
// NULL where the slot exists and has none; slotExists is set then, too.
func eachReservation(slotID int64, slotExists *bool, visit func(app.Reservation)) each {
	return func(rows *sql.Rows) error {
		var id sql.NullInt64
		var user, status sql.NullString
		var created, expires sql.NullTime
		if err := rows.Scan(&id, &user, &status, &created, &expires); err != nil {
			return err
		}
		*slotExists = true
		if id.Valid {
			visit(app.Reservation{ID: id.Int64, SlotID: slotID, UserID: user.String, Status: app.Status(status.String),
				CreatedAt: utc(created), ExpiresAt: utc(expires)})
		}
		return nil
	}
}

// Reservation implements app.Store.
func (s *Store) Reservation(ctx context.Context, slotID int64, userID string) (r app.Reservation, err error) {
	var slotExists bool
	err = s.read(ctx, "reservation_get", args{"slot_id": slotID, "user_id": userID},
		eachReservation(slotID, &slotExists, func(found app.Reservation) { r = found }))
	switch {
	case err != nil:
		return app.Reservation{}, err
	case !slotExists:
		return app.Reservation{}, app.ErrSlotNotFound
	case r.ID == 0:
		return app.Reservation{}, app.ErrReservationNotFound
	}
	return r, nil
}

// Reservations implements app.Store.
func (s *Store) Reservations(ctx context.Context, slotID, after int64, limit int) ([]app.Reservation, error) {
	var slotExists bool
	found := []app.Reservation{}
	err := s.read(ctx, "reservation_list", args{"slot_id": slotID, "after": after, "limit": limit},
		eachReservation(slotID, &slotExists, func(r app.Reservation) { found = append(found, r) }))
	if err == nil && !slotExists {
		err = app.ErrSlotNotFound
	}
	return found, err
}

// Confirm implements app.Store.
func (s *Store) Confirm(ctx context.Context, slotID int64, userID string) (app.Reservation, error) {
	var word string
	var id int64
	var created sql.NullTime
	err := s.write(ctx, "confirm", args{"slot_id": slotID, "user_id": userID}, one(&word, &id, &created))
	if err == nil {
		err = refused(word, app.ErrReservationNotFound)
	}
	if err != nil {
		return app.Reservation{}, err
	}
	return app.Reservation{ID: id, SlotID: slotID, UserID: userID, Status: app.Confirmed, CreatedAt: utc(created)}, nil
}

// Cancel implements app.Store.
func (s *Store) Cancel(ctx context.Context, slotID int64, userID string) error {
	var word string
	if err := s.write(ctx, "cancel", args{"slot_id": slotID, "user_id": userID}, one(&word)); err != nil {
		return err
	}
	return refused(word, app.ErrReservationNotFound)
}
