package conformance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

// sameAsOneByOne writes the same random ops in batches to one store and one by
// one to another: each answer, and what is there in the end, must be the same.
// Half of the batches are of one op, and half do not wait, for which an engine
// may have a way of its own. Seen red with: places not counted down within the
// batch; postgres/sql/reserve_lone.sql with its start, its allow_past, its
// created_at and its ON CONFLICT wrong, one at a time.
func sameAsOneByOne(t *testing.T, db app.Store, b app.Batcher, single app.Store, seed uint64, holds bool) {
	r := rand.New(rand.NewPCG(seed, 1))
	var batched, singles []int64 // ids of equal slots
	for _, capacity := range []int{1, 2, 3, 5} {
		batched = append(batched, newSlot(t, db, capacity).ID)
		singles = append(singles, newSlot(t, single, capacity).ID)
	}
	batched = append(batched, startedSlot(t, db, 6).ID, 999999)
	singles = append(singles, startedSlot(t, single, 6).ID, 999999)

	for range size(150) {
		ops := randomOps(r, len(batched), holds)
		toWrite := make([]app.Op, len(ops))
		for i, op := range ops {
			toWrite[i] = op
			toWrite[i].SlotID = batched[op.SlotID]
		}
		wait := r.IntN(2) == 0
		outcomes, err := again(t.Context(), func() ([]app.Outcome, error) { return b.Write(t.Context(), toWrite, wait) })
		ok(t, err)
		for i, op := range ops {
			op.SlotID = singles[ops[i].SlotID]
			res, err := apply(t, bare{single}, op)
			require.Equal(t, told(op, res, err), told(op, outcomes[i].Reservation, outcomes[i].Err),
				"op %d of %d: %+v", i, len(ops), ops)
		}
	}
	for i := range batched[:5] {
		require.Equal(t, users(live(t, single, singles[i])), users(live(t, db, batched[i])))
		require.Equal(t, getSlot(t, single, singles[i]).Reserved, getSlot(t, db, batched[i]).Reserved)
	}
	clean(t, db)
}

// randomOps are 1 to 25 ops as Batcher.Write takes them, on slots 0 to n-1.
func randomOps(r *rand.Rand, n int, holds bool) []app.Op {
	reserving := map[app.Place]bool{}
	ops := make([]app.Op, 1+r.IntN(2)*r.IntN(25))
	for i := range ops {
		op := app.Op{SlotID: int64(r.IntN(n)), UserID: fmt.Sprint("user ", r.IntN(7))}
		at := app.Place{SlotID: op.SlotID, UserID: op.UserID}
		if r.IntN(2) == 0 && !reserving[at] {
			op.Action = []app.Action{app.ActConfirm, app.ActCancel, app.ActCancel}[r.IntN(3)]
		} else {
			reserving[at] = true
			op.AllowPast = r.IntN(4) == 0
			if holds && r.IntN(3) == 0 {
				op.Hold = time.Hour
			}
			if r.IntN(3) == 0 {
				op.CreatedAt = past().Add(time.Duration(r.IntN(1e9)) * instant)
			}
		}
		ops[i] = op
	}
	return ops
}

func apply(t *testing.T, d desk, op app.Op) (app.Reservation, error) {
	switch op.Action {
	case app.ActConfirm:
		return d.Confirm(t.Context(), op.SlotID, op.UserID)
	case app.ActCancel:
		return app.Reservation{}, d.Cancel(t.Context(), op.SlotID, op.UserID)
	default:
		return d.Reserve(t.Context(), app.NewReservation{
			SlotID: op.SlotID, UserID: op.UserID, Hold: op.Hold, AllowPast: op.AllowPast, CreatedAt: op.CreatedAt,
		})
	}
}

// told is what a client learns, without ids and the time of day.
func told(op app.Op, r app.Reservation, err error) string {
	for _, want := range []error{
		app.ErrSlotNotFound, app.ErrAlreadyReserved, app.ErrSlotStarted, app.ErrSlotFull, app.ErrReservationNotFound, app.ErrHoldExpired,
	} {
		if errors.Is(err, want) {
			return want.Error()
		}
	}
	if err != nil || op.Action == app.ActCancel {
		return fmt.Sprint("cancelled: ", err)
	}
	created := "now"
	if r.CreatedAt.Before(past().Add(time.Hour)) {
		created = r.CreatedAt.Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%s %s, expires: %v, created %s", r.UserID, r.Status, !r.ExpiresAt.IsZero(), created)
}
