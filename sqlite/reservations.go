package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"slotkeeper/app"
)

// Reserve implements app.Store: a batch of one.
func (s *Store) Reserve(ctx context.Context, r app.NewReservation) (app.Reservation, error) {
	return s.one(ctx, reserveOp(r))
}

// Confirm implements app.Store.
func (s *Store) Confirm(ctx context.Context, slotID int64, userID string) (app.Reservation, error) {
	return s.one(ctx, app.Op{Action: app.ActConfirm, SlotID: slotID, UserID: userID})
}

// Cancel implements app.Store.
func (s *Store) Cancel(ctx context.Context, slotID int64, userID string) error {
	_, err := s.one(ctx, app.Op{Action: app.ActCancel, SlotID: slotID, UserID: userID})
	return err
}

func (s *Store) one(ctx context.Context, op app.Op) (app.Reservation, error) {
	outcomes, err := s.write(ctx, []app.Op{op}, false)
	if err != nil {
		return app.Reservation{}, err
	}
	return outcomes[0].Reservation, outcomes[0].Err
}

func reserveOp(r app.NewReservation) app.Op {
	return app.Op{Action: app.ActReserve, SlotID: r.SlotID, UserID: r.UserID, Hold: r.Hold, AllowPast: r.AllowPast, CreatedAt: r.CreatedAt}
}

// Write implements app.Batcher. It always waits: SQLite locks the file.
func (s *Store) Write(ctx context.Context, ops []app.Op, _ bool) ([]app.Outcome, error) {
	return s.write(ctx, ops, false)
}

// ReserveAll implements app.Store.
func (s *Store) ReserveAll(ctx context.Context, rs []app.NewReservation) ([]app.Reservation, error) {
	ops := make([]app.Op, len(rs))
	for i, r := range rs {
		ops[i] = reserveOp(r)
	}
	outcomes, err := s.write(ctx, ops, true)
	if err != nil {
		return nil, err
	}
	reserved := make([]app.Reservation, len(rs))
	for i, o := range outcomes {
		reserved[i] = o.Reservation
	}
	return reserved, nil
}

// write judges and writes ops in one transaction, which has the write lock
// from its start. With all it writes everything or, returning *app.ManyError,
// nothing.
func (s *Store) write(ctx context.Context, ops []app.Op, all bool) (outcomes []app.Outcome, err error) {
	ready, err := s.batch.on(ctx, s.writer)
	if err != nil {
		return nil, translate(err)
	}
	err = s.tx(ctx, func(plain *sql.Tx) error {
		tx := preparedTx{plain, ready}
		sc, err := s.look(ctx, tx, ops)
		if err != nil {
			return err
		}
		plan := app.Decide(sc, ops)
		outcomes = plan.Outcomes
		if all {
			if err := app.Together(outcomes); err != nil {
				return err
			}
		}
		return s.keep(ctx, tx, plan)
	})
	return outcomes, err
}

// look expires the slots' holds and reads what Decide needs.
func (s *Store) look(ctx context.Context, tx querier, ops []app.Op) (app.Scene, error) {
	ids, at := places(ops)
	if _, err := tx.ExecContext(ctx, query("expire_holds"), ids); err != nil {
		return app.Scene{}, err
	}
	sc, err := scene(ctx, tx, "scene_slots", "scene_places", ids, at)
	if err != nil {
		return sc, err
	}
	if confirms := onlyConfirms(ops); len(confirms) > 0 {
		_, at := places(confirms)
		var p app.Place
		err = each(ctx, tx, query("scene_expired"), []any{at}, []any{&p.SlotID, &p.UserID}, func() { sc.Expired[p] = true })
	}
	return sc, err
}

func scene(ctx context.Context, tx querier, slots, reservations, ids, at string) (app.Scene, error) {
	sc := app.Scene{Slots: map[int64]app.Slot{}, Live: map[app.Place]app.Reservation{}, Expired: map[app.Place]bool{}}
	var slot app.Slot
	var starts, now micros
	dest := []any{&slot.ID, &starts, &slot.Capacity, &slot.Reserved, &now}
	err := each(ctx, tx, query(slots), []any{ids}, dest, func() {
		slot.StartsAt, sc.Now = starts.time(), now.time()
		sc.Slots[slot.ID] = slot
	})
	if err == nil {
		_, err = eachReservation(ctx, tx, query(reservations), []any{at}, func(r app.Reservation) {
			sc.Live[app.Place{SlotID: r.SlotID, UserID: r.UserID}] = r
		})
	}
	return sc, err
}

// keep writes the plan.
func (s *Store) keep(ctx context.Context, tx querier, plan app.Plan) error {
	if err := onRows(ctx, tx, "confirm", plan.Confirm); err != nil {
		return err
	}
	if err := onRows(ctx, tx, "cancel", plan.Cancel); err != nil || len(plan.Insert) == 0 {
		return err
	}
	rows := make([][5]any, len(plan.Insert))
	made := make(map[app.Place]*app.Reservation, len(plan.Insert))
	for j, i := range plan.Insert {
		r := &plan.Outcomes[i].Reservation
		rows[j] = [5]any{r.SlotID, r.UserID, r.Status, r.CreatedAt.UnixMicro(), nil}
		if !r.ExpiresAt.IsZero() {
			rows[j][4] = r.ExpiresAt.UnixMicro()
		}
		made[app.Place{SlotID: r.SlotID, UserID: r.UserID}] = r
	}
	var id int64
	var p app.Place
	n := 0
	err := each(ctx, tx, query("reserve"), []any{list(rows)}, []any{&id, &p.SlotID, &p.UserID}, func() { made[p].ID = id; n++ })
	if err == nil && n != len(rows) {
		err = fmt.Errorf("%d of %d reservations were written", n, len(rows))
	}
	return err
}

// onRows runs a statement on reservations that look has seen.
func onRows(ctx context.Context, tx querier, name string, rs []app.Reservation) error {
	if len(rs) == 0 {
		return nil
	}
	ids := make([]int64, len(rs))
	for i, r := range rs {
		ids[i] = r.ID
	}
	_, err := tx.ExecContext(ctx, query(name), list(ids))
	return err
}

// Peek implements app.Batcher.
func (s *Store) Peek(ctx context.Context, ops []app.Op) (refusals []error, err error) {
	ids, at := places(ops)
	err = s.snapshot(ctx, func(tx *sql.Tx) error {
		sc, err := scene(ctx, tx, "peek_slots", "peek_places", ids, at)
		refusals = app.Refuse(sc, ops)
		return err
	})
	return refusals, err
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
func (s *Store) reservations(ctx context.Context, query string, args ...any) ([]app.Reservation, error) {
	var rs []app.Reservation
	n, err := eachReservation(ctx, s.readers, query, args, func(r app.Reservation) { rs = append(rs, r) })
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
func eachReservation(ctx context.Context, q querier, query string, args []any, f func(app.Reservation)) (n int, err error) {
	var id, slotID sql.NullInt64
	var userID, status sql.NullString
	var created, expires micros
	err = each(ctx, q, query, args, []any{&id, &slotID, &userID, &status, &created, &expires}, func() {
		n++
		if id.Valid {
			f(app.Reservation{
				ID: id.Int64, SlotID: slotID.Int64, UserID: userID.String, Status: app.Status(status.String),
				CreatedAt: created.time(), ExpiresAt: expires.time(),
			})
		}
	})
	return n, err
}

// places are the different slot ids of ops, and their [slot id, user id] pairs.
func places(ops []app.Op) (ids, at string) {
	slotIDs := make([]int64, len(ops))
	pairs := make([][2]any, len(ops))
	for i, op := range ops {
		slotIDs[i], pairs[i] = op.SlotID, [2]any{op.SlotID, op.UserID}
	}
	slices.Sort(slotIDs)
	return list(slices.Compact(slotIDs)), list(pairs)
}

func onlyConfirms(ops []app.Op) []app.Op {
	var confirms []app.Op
	for _, op := range ops {
		if op.Action == app.ActConfirm {
			confirms = append(confirms, op)
		}
	}
	return confirms
}
