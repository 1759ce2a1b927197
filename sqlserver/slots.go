package sqlserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"slotkeeper/app"
)

// CreateSlot implements app.Store.
func (s *Store) CreateSlot(ctx context.Context, n app.NewSlot) (slot app.Slot, created bool, err error) {
	var id int64
	err = s.write(ctx, "slot_create", args{
		"ref": n.Ref, "resource": n.Resource, "starts_at": n.StartsAt, "ends_at": n.EndsAt, "capacity": n.Capacity,
	}, one(&id, &created))
	if errors.Is(err, app.ErrResourceExists) {
		// Another writer has just created the place: this time it is found.
		err = fmt.Errorf("%w: %w", app.ErrTransient, err)
	}
	if err != nil {
		return app.Slot{}, false, err
	}
	if !created {
		slot, err = s.Slot(ctx, id)
		return slot, false, err
	}
	return app.Slot{ID: id, Resource: n.Resource, StartsAt: n.StartsAt.UTC(), EndsAt: n.EndsAt.UTC(), Capacity: n.Capacity, Version: 1}, true, nil
}

// eachSlot scans rows of id, resource, start, end, capacity, version, reserved.
func eachSlot(visit func(app.Slot)) each {
	return func(rows *sql.Rows) error {
		var slot app.Slot
		if err := rows.Scan(slotFields(&slot)...); err != nil {
			return err
		}
		slot.StartsAt, slot.EndsAt = slot.StartsAt.UTC(), slot.EndsAt.UTC()
		visit(slot)
		return nil
	}
}

func slotFields(slot *app.Slot) []any {
	return []any{&slot.ID, &slot.Resource, &slot.StartsAt, &slot.EndsAt, &slot.Capacity, &slot.Version, &slot.Reserved}
}

// Slot implements app.Store.
func (s *Store) Slot(ctx context.Context, id int64) (slot app.Slot, err error) {
	err = s.read(ctx, "slot_get", args{"id": id}, eachSlot(func(found app.Slot) { slot = found }))
	if err == nil && slot.ID == 0 {
		err = app.ErrSlotNotFound
	}
	return slot, err
}

// Slots implements app.Store.
func (s *Store) Slots(ctx context.Context, q app.SlotQuery) ([]app.Slot, error) {
	from, to := between(q.From, q.To)
	slots := []app.Slot{}
	err := s.read(ctx, "slot_list", args{
		"from": from, "to": to, "after_start": q.After.StartsAt, "after_id": q.After.ID, "resource": q.Resource,
		"available": q.Available, "minimum": q.Minimum.Microseconds(), "limit": q.Limit,
	}, eachSlot(func(slot app.Slot) { slots = append(slots, slot) }))
	return slots, err
}

// EditSlot implements app.Store.
func (s *Store) EditSlot(ctx context.Context, id, version int64, e app.SlotEdit) (slot app.Slot, err error) {
	a := args{"id": id, "version": version, "capacity": sql.NullInt64{}, "starts_at": sql.NullTime{}, "ends_at": sql.NullTime{}}
	if e.Capacity != nil {
		a["capacity"] = sql.NullInt64{Int64: int64(*e.Capacity), Valid: true}
	}
	if e.StartsAt != nil {
		a["starts_at"] = optional(*e.StartsAt)
	}
	if e.EndsAt != nil {
		a["ends_at"] = optional(*e.EndsAt)
	}
	word := "slot-not-found" // no row: it is not there
	err = s.write(ctx, "slot_edit", a, func(rows *sql.Rows) error {
		return rows.Scan(append([]any{&word}, slotFields(&slot)...)...)
	})
	if err != nil {
		return app.Slot{}, err
	}
	slot.StartsAt, slot.EndsAt = slot.StartsAt.UTC(), slot.EndsAt.UTC()
	if word == "range" {
		_, err := e.Apply(slot)
		return app.Slot{}, err
	}
	if err := refused(word, app.ErrSlotNotFound); err != nil {
		return app.Slot{}, err
	}
	return slot, nil
}

// DeleteSlot implements app.Store.
func (s *Store) DeleteSlot(ctx context.Context, id, version int64) error {
	var word string
	if err := s.write(ctx, "slot_delete", args{"id": id, "version": version}, one(&word)); err != nil {
		return err
	}
	return refused(word, app.ErrSlotNotFound)
}
