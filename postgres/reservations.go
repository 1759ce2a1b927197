package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

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
	outcomes, err := s.write(ctx, []app.Op{op}, true, false)
	if err != nil {
		return app.Reservation{}, err
	}
	return outcomes[0].Reservation, outcomes[0].Err
}

func reserveOp(r app.NewReservation) app.Op {
	return app.Op{Action: app.ActReserve, SlotID: r.SlotID, UserID: r.UserID, Hold: r.Hold, AllowPast: r.AllowPast, CreatedAt: r.CreatedAt}
}

// Write implements app.Batcher.
func (s *Store) Write(ctx context.Context, ops []app.Op, wait bool) ([]app.Outcome, error) {
	return s.write(ctx, ops, wait, false)
}

// ReserveAll implements app.Store.
func (s *Store) ReserveAll(ctx context.Context, rs []app.NewReservation) ([]app.Reservation, error) {
	ops := make([]app.Op, len(rs))
	for i, r := range rs {
		ops[i] = reserveOp(r)
	}
	outcomes, err := s.write(ctx, ops, true, true)
	if err != nil {
		return nil, err
	}
	reserved := make([]app.Reservation, len(rs))
	for i, o := range outcomes {
		reserved[i] = o.Reservation
	}
	return reserved, nil
}

// write judges and writes ops in one transaction of two round trips: lock and
// look, then write and commit. With all it writes everything or, returning
// *app.ManyError, nothing.
func (s *Store) write(ctx context.Context, ops []app.Op, wait, all bool) ([]app.Outcome, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, translate(err)
	}
	defer conn.Release()
	outcomes, err := s.writeOn(ctx, conn, ops, wait, all)
	if err != nil && !conn.Conn().IsClosed() {
		s.rollback(ctx, conn)
	}
	return outcomes, err
}

func (s *Store) writeOn(ctx context.Context, conn *pgxpool.Conn, ops []app.Op, wait, all bool) ([]app.Outcome, error) {
	if len(ops) == 1 && ops[0].Action == app.ActReserve && s.locking && !wait {
		if r, ok, err := s.lone(ctx, conn, ops[0]); err != nil || ok {
			return []app.Outcome{{Reservation: r}}, err
		}
	}
	sc, locked, expired, err := s.look(ctx, conn, ops, wait)
	if err != nil {
		return nil, translate(err)
	}
	plan := app.Decide(sc, ops)
	for i := range plan.Outcomes {
		if locked[ops[i].SlotID] {
			plan.Outcomes[i].Err = fmt.Errorf("%w: slot %d is locked", app.ErrTransient, ops[i].SlotID)
		}
	}
	if all {
		if err := app.Together(plan.Outcomes); err != nil {
			return nil, err
		}
	}
	if len(plan.Insert)+len(plan.Cancel)+len(plan.Confirm) == 0 && !expired {
		s.rollback(ctx, conn) // nothing to keep: spare the disk a commit
		return plan.Outcomes, nil
	}
	if err := s.keep(ctx, conn, plan); err != nil {
		return nil, err
	}
	return plan.Outcomes, nil
}

func (s *Store) rollback(ctx context.Context, conn *pgxpool.Conn) {
	ctx, cancel := s.finishing(ctx)
	defer cancel()
	_, _ = conn.Exec(ctx, "ROLLBACK") // a connection that fails here is thrown away by the pool
}

// look opens the transaction, locks the slots, expires their holds and reads
// what Decide needs. locked has the slots that another transaction holds.
func (s *Store) look(ctx context.Context, conn *pgxpool.Conn, ops []app.Op, wait bool) (sc app.Scene, locked map[int64]bool, expired bool, err error) {
	v := newView(ops)
	mine := map[int64]bool{}
	asked := time.Now()
	b := &pgx.Batch{}
	b.Queue(s.begin)
	if s.session {
		b.Queue(query("session"), s.lockWait)
	}
	if s.locking || !wait { // not to wait takes a lock under either strategy
		name := "lock_slots_free"
		if wait {
			name = "lock_slots"
		}
		b.Queue(query(name), v.slots).Query(func(rows pgx.Rows) error {
			var id int64
			_, err := pgx.ForEachRow(rows, []any{&id}, func() error { mine[id] = true; return nil })
			app.LockWaited(ctx, asked)
			return err
		})
	}
	v.queue(b)
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return sc, nil, false, err
	}
	if !wait {
		locked = v.leaveOut(mine)
	}
	if len(v.due) == 0 { // as nearly always: it spares a statement and its triggers
		return v.Scene, locked, false, nil
	}
	b = &pgx.Batch{}
	b.Queue(query("expire_holds"), slices.Collect(maps.Keys(v.due)))
	v = newView(ops)
	v.queue(b)
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return sc, nil, false, err
	}
	if !wait {
		locked = v.leaveOut(mine)
	}
	return v.Scene, locked, true, nil
}

// lone reserves in one round trip where nothing stands in the way. It refuses
// nothing: what it does not do is looked at and judged as usual.
func (s *Store) lone(ctx context.Context, conn *pgxpool.Conn, op app.Op) (r app.Reservation, ok bool, err error) {
	if gone(conn.Conn().PgConn().Conn()) { // or COMMIT, sent with the rest, would have an unknown outcome
		_ = conn.Conn().Close(ctx) // so that the pool lets go of it
		return r, false, fmt.Errorf("%w: it was closed while it rested", app.ReasonConnection)
	}
	var id int64
	var status string
	var created, expires pgtype.Timestamptz
	b := &pgx.Batch{}
	b.Queue(s.begin)
	if s.session {
		b.Queue(query("session"), s.lockWait)
	}
	asked := pgtype.Timestamptz{Time: op.CreatedAt, Valid: !op.CreatedAt.IsZero()}
	b.Queue(query("reserve_lone"), op.SlotID, op.UserID, asked, interval(op.Hold), op.AllowPast).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&id, &status, &created, &expires}, func() error { ok = true; return nil })
		return err
	})
	if err := s.commit(ctx, conn, b); err != nil || !ok {
		return app.Reservation{}, false, err
	}
	return app.Reservation{ID: id, SlotID: op.SlotID, UserID: op.UserID, Status: app.Status(status),
		CreatedAt: created.Time.UTC(), ExpiresAt: utc(expires)}, true, nil
}

// keep writes the plan and commits, in one round trip.
func (s *Store) keep(ctx context.Context, conn *pgxpool.Conn, plan app.Plan) error {
	b := &pgx.Batch{}
	queueRows(b, "confirm", plan.Confirm)
	queueRows(b, "cancel", plan.Cancel)
	if len(plan.Insert) > 0 {
		queueReserve(b, plan)
	}
	return s.commit(ctx, conn, b)
}

// commit sends b, which writes, with a COMMIT behind it.
func (s *Store) commit(ctx context.Context, conn *pgxpool.Conn, b *pgx.Batch) error {
	ctx, cancel := s.finishing(ctx)
	defer cancel()
	committed := false
	b.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return fmt.Errorf("%w: the server rolled back at commit", app.ErrTransient)
		}
		committed = true
		return nil
	})
	err := conn.SendBatch(ctx, b).Close()
	if committed {
		return nil // whatever became of the connection behind that answer
	}
	if err == nil || errors.Is(err, app.ErrTransient) {
		return err
	}
	return afterCommit(err) // COMMIT went out with the rest
}

// queueRows queues a statement on reservations that look has seen. That one of
// them is gone by now means that another program took it without the slot's
// lock; all is judged again then.
func queueRows(b *pgx.Batch, name string, rs []app.Reservation) {
	if len(rs) == 0 {
		return
	}
	slotIDs, ids := make([]int64, len(rs)), make([]int64, len(rs))
	for i, r := range rs {
		slotIDs[i], ids[i] = r.SlotID, r.ID
	}
	b.Queue(query(name), slotIDs, ids).Exec(func(tag pgconn.CommandTag) error {
		if int(tag.RowsAffected()) != len(ids) {
			return fmt.Errorf("%w: a reservation went away meanwhile", app.ErrTransient)
		}
		return nil
	})
}

func queueReserve(b *pgx.Batch, plan app.Plan) {
	n := len(plan.Insert)
	slotIDs, userIDs, states := make([]int64, n), make([]string, n), make([]string, n)
	created, expires := make([]time.Time, n), make([]pgtype.Timestamptz, n)
	at := make(map[app.Place]*app.Reservation, n)
	for j, i := range plan.Insert {
		r := &plan.Outcomes[i].Reservation
		slotIDs[j], userIDs[j], states[j], created[j] = r.SlotID, r.UserID, string(r.Status), r.CreatedAt
		expires[j] = pgtype.Timestamptz{Time: r.ExpiresAt, Valid: !r.ExpiresAt.IsZero()}
		at[app.Place{SlotID: r.SlotID, UserID: r.UserID}] = r
	}
	b.Queue(query("reserve"), slotIDs, userIDs, states, created, expires).Query(func(rows pgx.Rows) error {
		var id int64
		var p app.Place
		_, err := pgx.ForEachRow(rows, []any{&id, &p.SlotID, &p.UserID}, func() error { at[p].ID = id; return nil })
		return err
	})
}
