package importer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"slotkeeper/app"
)

var reservationColumns = columns{
	required: []string{"slot_ref", "user_id"},
	optional: []string{"requested_at"},
}

// batchRows is how many reservations are judged between two looks at whether
// the import is to stop.
const batchRows = 500

// reservationRow is one row of the file of reservations.
type reservationRow struct {
	line    line
	rec     record
	ask     app.NewReservation
	problem *problem // why it is not even asked for
}

// importReservations has each reservation judged in file order.
func (r *run) importReservations(ctx context.Context, t *table) error {
	for {
		batch, err := r.readBatch(t)
		if err != nil || len(batch) == 0 {
			return err
		}
		if ctx.Err() != nil {
			return &StoppedError{t.in.Name, batch[0].line.number, context.Cause(ctx)}
		}
		// Stopping waits for the batch under way.
		if err := r.importBatch(context.WithoutCancel(ctx), t.in, batch); err != nil {
			return err
		}
	}
}

func (r *run) readBatch(t *table) ([]reservationRow, error) {
	batch := make([]reservationRow, 0, batchRows)
	for len(batch) < batchRows {
		l, err := t.lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		row := reservationRow{line: l}
		if row.rec, row.problem = t.record(l); row.problem == nil {
			row.ask, row.problem = r.reservation(row.rec)
		}
		batch = append(batch, row)
	}
	return batch, nil
}

// reservation reads a row; AllowPast, because what another system has
// promised counts also after its slot began.
func (r *run) reservation(rec record) (app.NewReservation, *problem) {
	ask := app.NewReservation{UserID: rec.text("user_id"), AllowPast: true}
	if rec.has("requested_at") {
		var bad *problem
		if ask.CreatedAt, bad = rec.time("requested_at"); bad != nil {
			return ask, bad
		}
	}
	ref := rec.text("slot_ref")
	slot, found := r.slots[app.NFC(ref)]
	_, column := rec.position("slot_ref")
	switch {
	case !found:
		return ask, &problem{codeNotFound, "slot_ref", column, fmt.Sprintf("no row of %s has the ref %q", r.Slots.Name, ref)}
	case slot.id == 0:
		return ask, &problem{codeNotFound, "slot_ref", column, fmt.Sprintf("the slot was not imported, see %s:%d", r.Slots.Name, slot.line)}
	}
	ask.SlotID = slot.id
	return ask, nil
}

func (r *run) importBatch(ctx context.Context, in Input, batch []reservationRow) error {
	var asks []app.NewReservation
	for _, row := range batch {
		if row.problem == nil {
			asks = append(asks, row.ask)
		}
	}
	outcomes := r.svc.ReserveInOrder(ctx, asks)
	count := &r.summary.Reservations
	for _, row := range batch {
		bad := row.problem
		if bad == nil {
			err := outcomes[0].Err
			outcomes = outcomes[1:]
			if err != nil {
				if bad = refused(err, row.rec.position); bad == nil {
					return &StoppedError{in.Name, row.line.number, err}
				}
			}
		}
		count.Rows++
		if bad == nil {
			count.Codes[CodeReserved]++
		} else if err := r.reject(in, count, row.line, bad); err != nil {
			return err
		}
		r.progress(in, count, row.line.after)
	}
	return nil
}
