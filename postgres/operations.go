package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"slotkeeper/app"
)

// Sweep implements app.Store. Slots are locked before their reservations, as
// everywhere; what another transaction works on is left to it.
func (s *Store) Sweep(ctx context.Context, limit int) (freed int, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		freed = 0
		ids, err := column(ctx, tx, query("sweep_slots"), limit)
		if err != nil {
			return err
		}
		if len(ids) > 0 {
			if ids, err = column(ctx, tx, query("lock_slots_free"), ids); err != nil {
				return err
			}
			tag, err := tx.Exec(ctx, query("expire_holds"), ids)
			if err != nil {
				return err
			}
			freed += int(tag.RowsAffected())
		}
		tag, err := tx.Exec(ctx, query("sweep_bookings"), limit)
		freed += int(tag.RowsAffected())
		return err
	})
	if err != nil {
		return 0, err
	}
	return freed, s.forget(ctx, limit)
}

// forget removes holds that expired more than a day ago.
func (s *Store) forget(ctx context.Context, limit int) error {
	return s.tx(ctx, func(tx pgx.Tx) error {
		for _, name := range []string{"forget_reservations", "forget_bookings"} {
			if _, err := tx.Exec(ctx, query(name), limit); err != nil {
				return err
			}
		}
		return nil
	})
}

func column(ctx context.Context, tx pgx.Tx, sql string, arg any) ([]int64, error) {
	rows, err := tx.Query(ctx, sql, arg)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// Check implements app.Store.
func (s *Store) Check(ctx context.Context) ([]app.Fault, error) {
	var faults []app.Fault
	rows, err := s.pool.Query(ctx, query("check_slots"))
	if err != nil {
		return nil, translate(err)
	}
	var f app.Fault
	_, err = pgx.ForEachRow(rows, []any{&f.SlotID, &f.Capacity, &f.Counter, &f.Counted}, func() error {
		faults = append(faults, f.Described())
		return nil
	})
	if err != nil {
		return nil, translate(err)
	}
	rows, err = s.pool.Query(ctx, query("check_overlaps"))
	if err != nil {
		return nil, translate(err)
	}
	var key, what string
	_, err = pgx.ForEachRow(rows, []any{&key, &what}, func() error {
		faults = append(faults, app.Fault{Kind: app.FaultOverlap, Resource: key,
			Detail: fmt.Sprintf("%s begins while resource %q is taken", what, key)})
		return nil
	})
	return faults, translate(err)
}

// Ready implements app.Store.
func (s *Store) Ready(ctx context.Context) error {
	var version int64
	err := s.pool.QueryRow(ctx, query("schema_version")).Scan(&version)
	if err != nil {
		return fmt.Errorf("%w: %w", app.ErrUnavailable, err)
	}
	if version != latest() {
		return fmt.Errorf("%w: the schema has version %d and this program needs %d", app.ErrUnavailable, version, latest())
	}
	return nil
}
