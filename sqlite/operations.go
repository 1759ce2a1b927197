package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"slotkeeper/app"
)

// Sweep implements app.Store.
func (s *Store) Sweep(ctx context.Context, limit int) (freed int, err error) {
	err = s.tx(ctx, func(tx *sql.Tx) error {
		ids := []int64{}
		var id int64
		if err := each(ctx, tx, query("sweep_slots"), []any{limit}, []any{&id}, func() { ids = append(ids, id) }); err != nil {
			return err
		}
		holds, err := tx.ExecContext(ctx, query("expire_holds"), list(ids))
		if err != nil {
			return err
		}
		bookings, err := tx.ExecContext(ctx, query("sweep_bookings"), limit)
		if err != nil {
			return err
		}
		freed = affected(holds) + affected(bookings)
		for _, name := range []string{"forget_reservations", "forget_bookings"} {
			if _, err := tx.ExecContext(ctx, query(name), limit); err != nil {
				return err
			}
		}
		return nil
	})
	return freed, err
}

func affected(r sql.Result) int {
	n, _ := r.RowsAffected() // this driver always knows
	return int(n)
}

// Check implements app.Store.
func (s *Store) Check(ctx context.Context) (faults []app.Fault, err error) {
	err = s.snapshot(ctx, func(tx *sql.Tx) error {
		var f app.Fault
		err := each(ctx, tx, query("check_slots"), nil, []any{&f.SlotID, &f.Capacity, &f.Counter, &f.Counted},
			func() { faults = append(faults, f.Described()) })
		if err != nil {
			return err
		}
		var key, what string
		return each(ctx, tx, query("check_overlaps"), nil, []any{&key, &what}, func() {
			faults = append(faults, app.Fault{Kind: app.FaultOverlap, Resource: key,
				Detail: fmt.Sprintf("%s begins while resource %q is taken", what, key)})
		})
	})
	return faults, err
}

// Ready implements app.Store.
func (s *Store) Ready(ctx context.Context) error {
	var version int64
	err := s.readers.QueryRowContext(ctx, query("schema_version")).Scan(&version)
	if err != nil {
		return fmt.Errorf("%w: %w", app.ErrUnavailable, err)
	}
	if version != latest() {
		return fmt.Errorf("%w: the schema has version %d and this program needs %d", app.ErrUnavailable, version, latest())
	}
	return nil
}
