package postgres

import (
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"slotkeeper/app"
)

// view is the Scene of some ops as one snapshot has it.
type view struct {
	app.Scene
	due map[int64]bool // slots with a hold that has expired and is not marked so, which counts still

	slots    []int64 // the ops' different slots, ascending
	slotIDs  []int64 // with userIDs, the ops' places
	userIDs  []string
	confirms []app.Op
}

func newView(ops []app.Op) *view {
	slotIDs, userIDs := places(ops)
	return &view{
		Scene: app.Scene{Slots: map[int64]app.Slot{}, Live: map[app.Place]app.Reservation{}, Expired: map[app.Place]bool{}},
		due:   map[int64]bool{},
		slots: distinct(slotIDs), slotIDs: slotIDs, userIDs: userIDs, confirms: onlyConfirms(ops),
	}
}

// queue has b fill v.
func (v *view) queue(b *pgx.Batch) {
	b.Queue(query("scene"), v.slots, v.slotIDs, v.userIDs).Query(v.read)
	if len(v.confirms) == 0 {
		return
	}
	slotIDs, userIDs := places(v.confirms)
	b.Queue(query("scene_expired"), slotIDs, userIDs).Query(func(rows pgx.Rows) error {
		var at app.Place
		_, err := pgx.ForEachRow(rows, []any{&at.SlotID, &at.UserID}, func() error { v.Expired[at] = true; return nil })
		return err
	})
}

// read fills v from the rows of scene.sql.
func (v *view) read(rows pgx.Rows) error {
	var slotID int64
	var userID, status *string
	var id *int64
	var starts, ends pgtype.Timestamptz // a slot's start, and now; or a reservation's creation and expiry
	var capacity, reserved int
	var due pgtype.Timestamptz
	_, err := pgx.ForEachRow(rows, []any{&slotID, &userID, &id, &starts, &ends, &status, &capacity, &reserved, &due}, func() error {
		if id == nil {
			v.Now = ends.Time.UTC()
			v.Slots[slotID] = app.Slot{ID: slotID, StartsAt: starts.Time.UTC(), Capacity: capacity, Reserved: reserved}
			if due.Valid && !due.Time.After(ends.Time) {
				v.due[slotID] = true
			}
			return nil
		}
		v.Live[app.Place{SlotID: slotID, UserID: *userID}] = app.Reservation{
			ID: *id, SlotID: slotID, UserID: *userID, Status: app.Status(*status), CreatedAt: starts.Time.UTC(), ExpiresAt: utc(ends),
		}
		return nil
	})
	return err
}

// leaveOut forgets the slots that are there and not mine, and returns them.
func (v *view) leaveOut(mine map[int64]bool) (locked map[int64]bool) {
	for id := range v.Slots {
		if mine[id] {
			continue
		}
		if locked == nil {
			locked = map[int64]bool{}
		}
		locked[id] = true
		delete(v.Slots, id)
		delete(v.due, id)
	}
	return locked
}

func places(ops []app.Op) (slotIDs []int64, userIDs []string) {
	slotIDs, userIDs = make([]int64, len(ops)), make([]string, len(ops))
	for i, op := range ops {
		slotIDs[i], userIDs[i] = op.SlotID, op.UserID
	}
	return slotIDs, userIDs
}

func distinct(ids []int64) []int64 {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
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
