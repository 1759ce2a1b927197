package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"time"

	"slotkeeper/app"
)

// CreateSlot implements app.Store.
func (s *Store) CreateSlot(ctx context.Context, n app.NewSlot) (slot app.Slot, created bool, err error) {
	err = s.tx(ctx, func(tx *sql.Tx) error {
		var ref, resource any // NULL unless given
		if n.Ref != "" {
			ref = n.Ref
			slot, err = scanSlot(tx.QueryRowContext(ctx, query("slot_by_ref"), n.Ref))
			if !errors.Is(err, sql.ErrNoRows) {
				return err
			}
		}
		if n.Resource != "" {
			if resource, err = claimPlace(ctx, tx, n.Resource); err != nil {
				return err
			}
		}
		created = true
		slot = app.Slot{Resource: n.Resource, StartsAt: n.StartsAt, EndsAt: n.EndsAt, Capacity: n.Capacity}
		return tx.QueryRowContext(ctx, query("slot_create"), ref, resource, n.StartsAt.UnixMicro(), n.EndsAt.UnixMicro(), n.Capacity).
			Scan(&slot.ID, &slot.Version)
	})
	return slot, created && err == nil, err
}

// claimPlace returns the resource's id, made if need be, and frees what
// expired on it.
func claimPlace(ctx context.Context, tx *sql.Tx, key string) (int64, error) {
	if _, err := tx.ExecContext(ctx, query("resource_ensure"), key); err != nil {
		return 0, err
	}
	claimed, err := claimResources(ctx, tx, []string{key})
	return claimed[key].ID, err
}

// Slot implements app.Store.
func (s *Store) Slot(ctx context.Context, id int64) (app.Slot, error) {
	slot, err := scanSlot(s.readers.QueryRowContext(ctx, query("slot_get"), id))
	return slot, rowOr(err, app.ErrSlotNotFound)
}

// Slots implements app.Store.
func (s *Store) Slots(ctx context.Context, q app.SlotQuery) ([]app.Slot, error) {
	name := "slot_list"
	args := []any{
		microsOr(q.From, math.MinInt64), microsOr(q.To, math.MaxInt64),
		microsOr(q.After.StartsAt, math.MinInt64), q.After.ID,
		q.Available, q.Minimum.Microseconds(), q.Limit,
	}
	if q.Resource != "" {
		name = "slot_list_resource"
		args = append(args, q.Resource)
	}
	rows, err := s.readers.QueryContext(ctx, query(name), args...)
	if err != nil {
		return nil, translate(err)
	}
	defer rows.Close()
	slots := []app.Slot{}
	for rows.Next() {
		slot, err := scanSlot(rows)
		if err != nil {
			return nil, translate(err)
		}
		slots = append(slots, slot)
	}
	return slots, translate(rows.Err())
}

// EditSlot implements app.Store.
func (s *Store) EditSlot(ctx context.Context, id, version int64, e app.SlotEdit) (slot app.Slot, err error) {
	err = s.tx(ctx, func(tx *sql.Tx) error {
		if slot, err = slotToChange(ctx, tx, id); err != nil {
			return err
		}
		if slot.Version != version {
			return app.ErrVersionMismatch
		}
		if slot, err = e.Apply(slot); err != nil {
			return err
		}
		if slot.Capacity < slot.Reserved {
			return &app.CapacityBelowReservedError{Reserved: slot.Reserved}
		}
		if slot.Resource != "" && (e.StartsAt != nil || e.EndsAt != nil) {
			if _, err := claimPlace(ctx, tx, slot.Resource); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, query("slot_edit"), id, slot.StartsAt.UnixMicro(), slot.EndsAt.UnixMicro(), slot.Capacity, slot.Version)
		return err
	})
	return slot, err
}

// DeleteSlot implements app.Store.
func (s *Store) DeleteSlot(ctx context.Context, id, version int64) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		slot, err := slotToChange(ctx, tx, id)
		if err != nil {
			return err
		}
		if version != 0 && slot.Version != version {
			return app.ErrVersionMismatch
		}
		if slot.Reserved > 0 {
			return app.ErrSlotHasReservations
		}
		if _, err := tx.ExecContext(ctx, query("slot_forget"), id); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, query("slot_delete"), id)
		return err
	})
}

// slotToChange expires a slot's holds and then reads it.
func slotToChange(ctx context.Context, tx *sql.Tx, id int64) (app.Slot, error) {
	if _, err := tx.ExecContext(ctx, query("expire_holds"), list([]int64{id})); err != nil {
		return app.Slot{}, err
	}
	slot, err := scanSlot(tx.QueryRowContext(ctx, query("slot_locked"), id))
	return slot, rowOr(err, app.ErrSlotNotFound)
}

// scanner is a row of a query.
type scanner interface{ Scan(dest ...any) error }

func scanSlot(row scanner) (app.Slot, error) {
	var s app.Slot
	var starts, ends micros
	err := row.Scan(&s.ID, &s.Resource, &starts, &ends, &s.Capacity, &s.Version, &s.Reserved)
	s.StartsAt, s.EndsAt = starts.time(), ends.time()
	return s, err
}

// microsOr is t, or the end of time that leaves its side open.
func microsOr(t time.Time, open int64) int64 {
	if t.IsZero() {
		return open
	}
	return t.UnixMicro()
}
