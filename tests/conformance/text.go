package conformance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

// unusual are texts that app lets through and that have broken such programs:
// 22, quoting, patterns, placeholders, widths counted in other units.
func unusual() []string {
	return []string{
		"محمد", "a b", "x/y", "%20", "%", "_", `\`, `\'`, `'`, `''`, `"`, "`", "'; DROP TABLE slots; --",
		"$1", "?", "@p1", ":name", "{}", "[x]", "null", "NULL", "0", "-1", "true", `\u0041`, `{"a":1}`, "a\u2028b", "\u202ealice",
		"é", "e\u0301", "שָׁלוֹם", "ไทย", "👩‍👩‍👧‍👦", "\U0010ffff", "\ufffd",
		strings.Repeat("a", 128), strings.Repeat("م", 128), strings.Repeat("中", 128), strings.Repeat("😀", 128),
	}
}

// Seen red with: users compared by LIKE; a column of 256 bytes.
func unusualText(t *testing.T, db app.Store) {
	texts := unusual()
	slot := newSlot(t, db, len(texts))
	for _, text := range texts {
		r := reserve(t, db, slot.ID, text)
		require.Equal(t, text, r.UserID)
		for _, call := range []func() (app.Reservation, error){
			func() (app.Reservation, error) { return db.Reservation(t.Context(), slot.ID, text) },
			func() (app.Reservation, error) { return db.Confirm(t.Context(), slot.ID, text) },
		} {
			got, err := call()
			ok(t, err)
			require.Equal(t, r, got)
		}
		is(t, app.ErrAlreadyReserved, reserveErr(t, db, slot.ID, text))
	}
	require.Equal(t, texts, users(live(t, db, slot.ID)))
	for i, text := range texts {
		ok(t, db.Cancel(t.Context(), slot.ID, text))
		require.Equal(t, texts[i+1:], users(live(t, db, slot.ID)), "that one and no other")
	}
	last := texts[len(texts)-4:]
	rs := make([]app.NewReservation, len(last))
	for i, text := range last {
		rs[i] = app.NewReservation{SlotID: newSlot(t, db, 1).ID, UserID: text}
	}
	many, err := db.ReserveAll(t.Context(), rs)
	ok(t, err)
	require.Equal(t, last, users(many))
	if b, can := db.(app.Batcher); can {
		ops := make([]app.Op, len(texts))
		for i, text := range texts {
			ops[i] = app.Op{SlotID: slot.ID, UserID: text}
		}
		outcomes, err := b.Write(t.Context(), ops, true)
		ok(t, err)
		for i, o := range outcomes {
			ok(t, o.Err)
			require.Equal(t, texts[i], o.Reservation.UserID)
		}
		require.Equal(t, texts, users(live(t, db, slot.ID)))
	}
}

// Seen red with: keys compared by LIKE.
func unusualKeys(t *testing.T, db app.Store) {
	for i, text := range unusual() {
		r, err := db.CreateResource(t.Context(), app.Resource{Key: text, Name: text + "!", Kind: app.KindThing})
		ok(t, err)
		got, err := db.Resource(t.Context(), text)
		ok(t, err)
		require.Equal(t, r, got)
		n := span(text, 0, 20, 1)
		n.Ref = text
		slot := create(t, db, n)
		require.Equal(t, text, slot.Resource)
		require.Equal(t, []app.Slot{slot}, list(t, db, app.SlotQuery{Resource: text}))
		again, created, err := db.CreateSlot(t.Context(), n)
		ok(t, err)
		require.False(t, created)
		require.Equal(t, slot, again)
		b := book(t, db, text, text, 30+i, 31+i)
		require.Equal(t, text, b.Resource)
		require.Equal(t, text, b.UserID)
		require.Equal(t, []app.Booking{b}, bookings(t, db, app.BookingQuery{Resource: text}))
		require.Len(t, freeRanges(t, db, text, 0, 100, 1), 2)
	}
	rs, err := db.Resources(t.Context(), "", app.MaxPage)
	ok(t, err)
	require.Len(t, rs, len(unusual()))
}
