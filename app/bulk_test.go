package app

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ward is one slot of a given capacity as a Store; only Reserve and Reservation
// are there.
type ward struct {
	Store
	left   int
	placed map[Place]Reservation
	asked  []string // the users asked for alone, in order
	fail   map[string]error
}

func newWard(capacity int) *ward {
	return &ward{left: capacity, placed: map[Place]Reservation{}, fail: map[string]error{}}
}

func (w *ward) Reserve(_ context.Context, r NewReservation) (Reservation, error) {
	w.asked = append(w.asked, r.UserID)
	if err := w.fail[r.UserID]; err != nil {
		return Reservation{}, err
	}
	return w.place(r.op())
}

func (w *ward) place(op Op) (Reservation, error) {
	at := Place{op.SlotID, op.UserID}
	switch _, has := w.placed[at]; {
	case has:
		return Reservation{}, ErrAlreadyReserved
	case w.left == 0:
		return Reservation{}, ErrSlotFull
	}
	w.left--
	w.placed[at] = Reservation{ID: int64(len(w.placed) + 1), SlotID: op.SlotID, UserID: op.UserID}
	return w.placed[at], nil
}

func (w *ward) Reservation(_ context.Context, slot int64, user string) (Reservation, error) {
	return w.placed[Place{slot, user}], nil
}

// batchWard is a ward that writes batches; before is asked first, with the
// number of the call from 0.
type batchWard struct {
	*ward
	before func(call int, ops []Op) error
	locked map[int64]bool // slots whose ops come back as transient
	calls  []int          // sizes
	lost   error          // returned after the work was done, once
}

func (w *batchWard) Write(_ context.Context, ops []Op, _ bool) ([]Outcome, error) {
	w.calls = append(w.calls, len(ops))
	if w.before != nil {
		if err := w.before(len(w.calls)-1, ops); err != nil {
			return nil, err
		}
	}
	out := make([]Outcome, len(ops))
	for i, op := range ops {
		if w.locked[op.SlotID] {
			out[i].Err = ErrTransient
			continue
		}
		out[i].Reservation, out[i].Err = w.place(op)
	}
	if err := w.lost; err != nil {
		w.lost = nil
		return nil, err
	}
	return out, nil
}

func (w *batchWard) Peek(context.Context, []Op) ([]error, error) { return nil, errors.New("not asked") }

func asks(users ...string) []NewReservation {
	rs := make([]NewReservation, len(users))
	for i, u := range users {
		rs[i] = NewReservation{SlotID: 1, UserID: u}
	}
	return rs
}

// verdicts gives each outcome one letter: + reserved, d duplicate, f full,
// i invalid, b busy, u unavailable.
func verdicts(out []Outcome) string {
	text := ""
	for _, o := range out {
		var invalid *ValidationError
		switch {
		case o.Err == nil && o.Reservation.ID > 0:
			text += "+"
		case errors.Is(o.Err, ErrAlreadyReserved):
			text += "d"
		case errors.Is(o.Err, ErrSlotFull):
			text += "f"
		case errors.As(o.Err, &invalid):
			text += "i"
		case errors.Is(o.Err, ErrBusy):
			text += "b"
		case errors.Is(o.Err, ErrUnavailable):
			text += "u"
		default:
			text += "?"
		}
	}
	return text
}

func TestReserveInOrder(t *testing.T) {
	ctx := context.Background()
	rs := asks("a", "a", " b", "b", "c", "a")
	for name, store := range map[string]Store{"one by one": newWard(2), "batches": &batchWard{ward: newWard(2)}} {
		t.Run(name, func(t *testing.T) {
			s := NewService(store, Config{})
			assert.Equal(t, "+di+fd", verdicts(s.ReserveInOrder(ctx, rs)))
			assert.Equal(t, "ddidfd", verdicts(s.ReserveInOrder(ctx, rs)))
			assert.Empty(t, s.ReserveInOrder(ctx, nil))
		})
	}
}

func TestReserveInOrderChunks(t *testing.T) {
	w := &batchWard{ward: newWard(1100)}
	users := make([]string, 1201)
	for i := range users {
		users[i] = fmt.Sprint("p", i)
	}
	out := NewService(w, Config{}).ReserveInOrder(context.Background(), asks(users...))
	assert.Equal(t, []int{500, 500, 201}, w.calls)
	assert.NoError(t, out[1099].Err)
	assert.ErrorIs(t, out[1100].Err, ErrSlotFull)
}

// A deadlock runs the whole batch again; a batch that fails for good is judged
// one by one. Seen red with retry left out.
func TestReserveInOrderRetries(t *testing.T) {
	w := &batchWard{ward: newWard(2), before: func(call int, _ []Op) error {
		if call < 2 {
			return fmt.Errorf("40P01: %w", ErrTransient)
		}
		return nil
	}}
	assert.Equal(t, "+d+f", verdicts(NewService(w, Config{}).ReserveInOrder(context.Background(), asks("a", "a", "b", "c"))))
	assert.Equal(t, []int{4, 4, 4}, w.calls)
	assert.Empty(t, w.asked)

	w = &batchWard{ward: newWard(2), before: func(int, []Op) error { return errors.New("one row spoils it") }}
	assert.Equal(t, "+d+f", verdicts(NewService(w, Config{}).ReserveInOrder(context.Background(), asks("a", "a", "b", "c"))))
	assert.Equal(t, []string{"a", "a", "b", "c"}, w.asked)
}

// After a commit whose answer was lost a found place is the batch's own work,
// but its second request stays a duplicate. Seen red with tried given to every op.
func TestReserveInOrderLostAnswer(t *testing.T) {
	w := &batchWard{ward: newWard(2), lost: fmt.Errorf("broken pipe: %w", ErrOutcomeUnknown)}
	assert.Equal(t, "+d+f", verdicts(NewService(w, Config{}).ReserveInOrder(context.Background(), asks("a", "a", "b", "c"))))
	assert.Len(t, w.placed, 2)
}

// The answer was lost so late that no time is left to ask again within the call.
// Seen red with: only errAlone taken for a commit whose outcome is unknown.
func TestReserveInOrderLateLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &batchWard{ward: newWard(2), lost: fmt.Errorf("broken pipe: %w", ErrOutcomeUnknown)}
		w.before = func(int, []Op) error {
			time.Sleep(2 * time.Second) // the bubble's time: past the call's, whatever the machine does
			return nil
		}
		s := NewService(w, Config{CallTimeout: time.Second})
		assert.Equal(t, "+d+f", verdicts(s.ReserveInOrder(t.Context(), asks("a", "a", "b", "c"))))
		assert.Equal(t, []int{4}, w.calls, "the batch was not tried again")
		assert.Len(t, w.placed, 2)
	})
}

// Ops of a slot that is locked elsewhere come back alone, in their order.
func TestReserveInOrderLockedSlot(t *testing.T) {
	w := &batchWard{ward: newWard(4), locked: map[int64]bool{2: true}}
	rs := asks("a", "x", "x", "b", "c")
	rs[1].SlotID, rs[2].SlotID = 2, 2
	assert.Equal(t, "++d++", verdicts(NewService(w, Config{}).ReserveInOrder(context.Background(), rs)))
	assert.Equal(t, []string{"x", "x"}, w.asked)
}

// What cannot be judged ends the work, so that no later request takes an
// earlier one's place. Seen red with the loop going on after the error.
func TestReserveInOrderEnds(t *testing.T) {
	w := newWard(2)
	w.fail["b"] = fmt.Errorf("refused connection: %w", ErrUnavailable)
	out := NewService(w, Config{}).ReserveInOrder(context.Background(), asks("a", "b", "c", "d"))
	assert.Equal(t, "+uuu", verdicts(out))
	assert.Equal(t, []string{"a", "b"}, w.asked)

	many := make([]string, 600)
	for i := range many {
		many[i] = fmt.Sprint("p", i)
	}
	w = newWard(600)
	w.fail["p0"] = ErrBusy
	out = NewService(w, Config{}).ReserveInOrder(context.Background(), asks(many...))
	require.ErrorIs(t, out[599].Err, ErrBusy)
	assert.Equal(t, []string{"p0"}, w.asked)
}
