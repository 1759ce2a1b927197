package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"slotkeeper/app"
)

var slotColumns = columns{
	required: []string{"ref", "starts_at", "ends_at", "capacity"},
	optional: []string{"resource"},
}

// slotRow is one row of a file of slots, read and not yet judged.
type slotRow struct {
	line     line
	slot     app.NewSlot // Ref without the prefix
	problem  *problem    // why it is not even tried
	position func(field string) (name string, column int)
}

// readSlots reads the whole file, because whether FHIR slots can have a
// resource shows only when all of them are known; a slot takes few bytes.
func (r *run) readSlots() ([]slotRow, error) {
	if r.Format == Smart {
		return r.readSmart()
	}
	t, err := openTable(r.Slots, slotColumns)
	if err != nil {
		return nil, err
	}
	return readAll(t.lines, t.slot)
}

func readAll(l *lines, parse func(line) slotRow) ([]slotRow, error) {
	var rows []slotRow
	for {
		next, err := l.next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, parse(next))
	}
}

func (t *table) slot(l line) slotRow {
	row := slotRow{line: l}
	rec, bad := t.record(l)
	if bad != nil {
		row.problem = bad
		return row
	}
	row.position = rec.position
	row.slot, row.problem = rec.slot()
	return row
}

func (r record) slot() (app.NewSlot, *problem) {
	s := app.NewSlot{Ref: r.text("ref"), Resource: r.text("resource")}
	if s.Ref == "" {
		return s, r.broken("ref", "must not be empty: it is how the slot is recognised")
	}
	var bad *problem
	if s.StartsAt, bad = r.time("starts_at"); bad != nil {
		return s, bad
	}
	if s.EndsAt, bad = r.time("ends_at"); bad != nil {
		return s, bad
	}
	capacity, err := strconv.Atoi(r.text("capacity"))
	if err != nil {
		return s, r.broken("capacity", fmt.Sprintf("must be an integer from 1 to %d", app.MaxCapacity))
	}
	s.Capacity = capacity
	return s, nil
}

// importSlots has each slot judged in file order.
func (r *run) importSlots(ctx context.Context, rows []slotRow) error {
	for _, row := range rows {
		if err := ctx.Err(); err != nil {
			return &StoppedError{r.Slots.Name, row.line.number, context.Cause(ctx)}
		}
		bad, err := r.importSlot(ctx, row)
		if err != nil {
			return &StoppedError{r.Slots.Name, row.line.number, err}
		}
		r.summary.Slots.Rows++
		if bad != nil {
			if err := r.reject(r.Slots, &r.summary.Slots, row.line, bad); err != nil {
				return err
			}
		}
		r.progress(r.Slots, &r.summary.Slots, row.line.after)
	}
	return nil
}

// importSlot has one slot judged and remembers what became of its ref. An error
// means that it was not judged.
func (r *run) importSlot(ctx context.Context, row slotRow) (*problem, error) {
	ref := app.NFC(row.slot.Ref)
	if ref == "" {
		return row.problem, nil
	}
	if first, twice := r.slots[ref]; twice {
		name, column := row.position("ref")
		return &problem{CodeBroken, name, column, fmt.Sprintf("the ref %q stands already in line %d", ref, first.line)}, nil
	}
	r.slots[ref] = known{line: row.line.number}
	if row.problem != nil {
		return row.problem, nil
	}
	n := row.slot
	n.Ref = r.RefPrefix + n.Ref
	// Stopping waits for the row under way: half a row is never left.
	slot, created, err := r.svc.ImportSlot(context.WithoutCancel(ctx), n)
	if err != nil {
		if bad := refused(err, row.position); bad != nil {
			return bad, nil
		}
		delete(r.slots, ref)
		return nil, err
	}
	r.slots[ref] = known{slot.ID, row.line.number}
	switch {
	case created:
		r.summary.Slots.Codes[CodeCreated]++
	case same(n, slot):
		r.summary.Slots.Codes[CodeKnown]++
	default:
		return &problem{CodeDiffers, "", 1, fmt.Sprintf(
			"slot %d has this ref and other values, and stays as it is", slot.ID)}, nil
	}
	return nil, nil
}

// same says whether a stored slot is what the file says.
func same(n app.NewSlot, s app.Slot) bool {
	return n.Capacity == s.Capacity && app.NFC(n.Resource) == s.Resource &&
		app.SameInstant(n.StartsAt, s.StartsAt) && app.SameInstant(n.EndsAt, s.EndsAt)
}
