package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"slotkeeper/app"
)

// CreateSlot implements app.Store.
func (s *Store) CreateSlot(ctx context.Context, n app.NewSlot) (slot app.Slot, created bool, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		if n.Ref != "" {
			slot, err = scanSlot(tx.QueryRow(ctx, query("slot_by_ref"), n.Ref))
			if !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
		}
		var resource *int64
		if n.Resource != "" {
			id, err := claimPlace(ctx, tx, n.Resource)
			if err != nil {
				return err
			}
			resource = &id
		}
		created = true
		slot, err = insertSlot(ctx, tx, n, resource)
		return err
	})
	return slot, created && err == nil, err
}

func insertSlot(ctx context.Context, tx pgx.Tx, n app.NewSlot, resource *int64) (app.Slot, error) {
	var ref *string
	if n.Ref != "" {
		ref = &n.Ref
	}
	slot := app.Slot{Resource: n.Resource, StartsAt: n.StartsAt, EndsAt: n.EndsAt, Capacity: n.Capacity}
	err := tx.QueryRow(ctx, query("slot_create"), ref, resource, n.StartsAt, n.EndsAt, n.Capacity).Scan(&slot.ID, &slot.Version)
	if errors.Is(err, pgx.ErrNoRows) {
		err = fmt.Errorf("%w: the ref was stored meanwhile", app.ErrTransient)
	}
	return slot, err
}

// claimPlace locks the resource, made if need be, and frees what expired on it.
func claimPlace(ctx context.Context, tx pgx.Tx, key string) (int64, error) {
	if _, err := tx.Exec(ctx, query("resource_ensure"), key); err != nil {
		return 0, err
	}
	claimed, err := lockResources(ctx, tx, []string{key})
	return claimed[key].ID, err
}

// Slot implements app.Store.
func (s *Store) Slot(ctx context.Context, id int64) (app.Slot, error) {
	slot, err := scanSlot(s.pool.QueryRow(ctx, query("slot_get"), id))
	return slot, rowOr(err, app.ErrSlotNotFound)
}

// Slots implements app.Store.
func (s *Store) Slots(ctx context.Context, q app.SlotQuery) ([]app.Slot, error) {
	sql, args := query("slot_list"), []any{
		timeOr(q.From, pgtype.NegativeInfinity), timeOr(q.To, pgtype.Infinity),
		timeOr(q.After.StartsAt, pgtype.NegativeInfinity), q.After.ID,
		q.Available, interval(q.Minimum), q.Limit,
	}
	if q.Resource != "" {
		sql, args = query("slot_list_resource"), append(args, q.Resource)
	}
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, translate(err)
	}
	slots, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (app.Slot, error) { return scanSlot(row) })
	return slots, translate(err)
}

// EditSlot implements app.Store.
func (s *Store) EditSlot(ctx context.Context, id, version int64, e app.SlotEdit) (slot app.Slot, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		slot, err = lockSlot(ctx, tx, id)
		if err != nil {
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
		_, err = tx.Exec(ctx, query("slot_edit"), id, slot.StartsAt, slot.EndsAt, slot.Capacity, slot.Version)
		return err
	})
	return slot, err
}

// DeleteSlot implements app.Store.
func (s *Store) DeleteSlot(ctx context.Context, id, version int64) error {
	return s.tx(ctx, func(tx pgx.Tx) error {
		slot, err := lockSlot(ctx, tx, id)
		if err != nil {
			return err
		}
		if version != 0 && slot.Version != version {
			return app.ErrVersionMismatch
		}
		if slot.Reserved > 0 {
			return app.ErrSlotHasReservations
		}
		if _, err := tx.Exec(ctx, query("slot_forget"), id); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, query("slot_delete"), id)
		if errors.Is(translate(err), app.ErrSlotNotFound) { // the reservation's foreign key, from its other end
			return app.ErrSlotHasReservations
		}
		return err
	})
}

// lockSlot locks a slot, expires its holds and then reads it.
func lockSlot(ctx context.Context, tx pgx.Tx, id int64) (app.Slot, error) {
	ids := []int64{id}
	for _, name := range []string{"lock_slots", "expire_holds"} {
		if _, err := tx.Exec(ctx, query(name), ids); err != nil {
			return app.Slot{}, err
		}
	}
	slot, err := scanSlot(tx.QueryRow(ctx, query("slot_locked"), id))
	return slot, rowOr(err, app.ErrSlotNotFound)
}

func scanSlot(row pgx.Row) (app.Slot, error) {
	var s app.Slot
	err := row.Scan(&s.ID, &s.Resource, &s.StartsAt, &s.EndsAt, &s.Capacity, &s.Version, &s.Reserved)
	s.StartsAt, s.EndsAt = s.StartsAt.UTC(), s.EndsAt.UTC()
	return s, err
}

// timeOr is t, or the infinity that leaves its side open.
func timeOr(t time.Time, open pgtype.InfinityModifier) pgtype.Timestamptz {
	if t.IsZero() {
		return pgtype.Timestamptz{InfinityModifier: open, Valid: true}
	}
	return pgtype.Timestamptz{Time: t, Valid: true}
}

func interval(d time.Duration) pgtype.Interval {
	return pgtype.Interval{Microseconds: d.Microseconds(), Valid: true}
}
