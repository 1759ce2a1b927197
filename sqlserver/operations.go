package sqlserver

import (
	"context"
	"database/sql"
	"fmt"

	"slotkeeper/app"
)

// Sweep implements app.Store. A slot or resource that someone keeps locked is
// left to the next sweep.
func (s *Store) Sweep(ctx context.Context, limit int) (freed int, err error) {
	for _, name := range []string{"sweep", "sweep_bookings"} {
		var n int
		if err := s.write(ctx, name, args{"limit": limit}, one(&n)); err != nil {
			return freed, err
		}
		freed += n
	}
	return freed, nil
}

// Check implements app.Store. No counter is kept here, so Counter is Counted.
func (s *Store) Check(ctx context.Context) ([]app.Fault, error) {
	faults := []app.Fault{}
	err := s.read(ctx, "check_slots", nil, func(rows *sql.Rows) error {
		var f app.Fault
		if err := rows.Scan(&f.SlotID, &f.Capacity, &f.Counted); err != nil {
			return err
		}
		f.Counter = f.Counted
		faults = append(faults, f.Described())
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = s.read(ctx, "check_overlaps", nil, func(rows *sql.Rows) error {
		var key, what string
		if err := rows.Scan(&key, &what); err != nil {
			return err
		}
		faults = append(faults, app.Fault{Kind: app.FaultOverlap, Resource: key,
			Detail: fmt.Sprintf("%s begins while resource %q is taken", what, key)})
		return nil
	})
	return faults, err
}
