package api

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Case 1, with 10, 100 and 200 clients. Seen red with: capacity judged neither
// by app.Decide nor by SQLite's triggers and CHECK. (Either alone keeps it.)
func TestOnePlaceForMany(t *testing.T) {
	everywhere(t, func(d *desk) {
		for _, n := range []int{10, 100, 200} {
			all := d.crowd(n)
			slot := all[0].slot(1)
			got := all.together(func(i int, c *caller) answer { return c.reserve(slot, fmt.Sprint("user-", i)) })
			require.Equal(d, map[string]int{"201": 1, "409 slot-full": n - 1}, got)
			require.Equal(d, 1, all[0].number(slot, "reserved"))
			require.Equal(d, 0, all[0].number(slot, "available"))
		}
		d.sound()
	})
}

// The last place of several, again and again: who comes second meets a slot
// that was free a moment ago. Seen red with: as above.
func TestLastPlace(t *testing.T) {
	everywhere(t, func(d *desk) {
		all := d.crowd(10)
		for range 50 {
			slot := all[0].slot(3)
			require.Equal(d, 201, all[0].reserve(slot, "first").status)
			require.Equal(d, 201, all[0].reserve(slot, "second").status)
			got := all.together(func(i int, c *caller) answer { return c.reserve(slot, fmt.Sprint("user-", i)) })
			require.Equal(d, map[string]int{"201": 1, "409 slot-full": 9}, got)
		}
		all = d.crowd(200)
		slot := all[0].slot(2)
		require.Equal(d, 201, all[0].reserve(slot, "first").status)
		got := all.together(func(i int, c *caller) answer { return c.reserve(slot, fmt.Sprint("user-", i)) })
		require.Equal(d, map[string]int{"201": 1, "409 slot-full": 199}, got)
		d.sound()
	})
}

// As many as there is room for, over many slots at once. Seen red with: as above.
func TestExactlyCapacity(t *testing.T) {
	everywhere(t, func(d *desk) {
		all := d.crowd(60)
		slots := []string{all[0].slot(7), all[0].slot(7), all[0].slot(7)}
		got := all.together(func(i int, c *caller) answer { return c.reserve(slots[i%3], fmt.Sprint("user-", i)) })
		require.Equal(d, map[string]int{"201": 21, "409 slot-full": 39}, got)
		d.sound()
	})
}

// Case 2. Seen red with: duplicates judged neither by app.Decide nor by
// SQLite's trigger and unique index.
func TestDoubleClick(t *testing.T) {
	everywhere(t, func(d *desk) {
		all := d.crowd(5)
		for range 10 {
			slot := all[0].slot(5)
			got := all.together(func(_ int, c *caller) answer { return c.reserve(slot, "alice") })
			require.Equal(d, map[string]int{"201": 1, "409 already-reserved": 4}, got)
			require.Equal(d, 1, all[0].number(slot, "reserved"))
		}
		full := all[0].slot(1)
		require.Equal(d, 201, all[0].reserve(full, "alice").status)
		require.Equal(d, "409 already-reserved", all[0].reserve(full, "alice").kind(), "the duplicate is checked first")
		d.sound()
	})
}

// Case 6: cancelling twice at once gives one place back. Seen red with: the
// counting trigger giving back two.
func TestCancelTwice(t *testing.T) {
	everywhere(t, func(d *desk) {
		all := d.crowd(2)
		for range 20 {
			slot := all[0].slot(2)
			require.Equal(d, 201, all[0].reserve(slot, "alice").status)
			require.Equal(d, 201, all[0].reserve(slot, "bob").status)
			got := all.together(func(_ int, c *caller) answer { return c.do("DELETE", slot+"/reservations/alice", "") })
			require.Equal(d, map[string]int{"204": 1, "404 reservation-not-found": 1}, got)
			require.Equal(d, 1, all[0].number(slot, "available"))
		}
		d.sound()
	})
}

// Case 7: an edit meets reservations that are being made. Seen red with: the
// lower capacity judged neither by EditSlot nor by the CHECK.
func TestCapacityLoweredUnderReservations(t *testing.T) {
	everywhere(t, func(d *desk) {
		all := d.crowd(9)
		slot := all[0].slot(3)
		for _, user := range []string{"a", "b", "c"} {
			require.Equal(d, 201, all[0].reserve(slot, user).status)
		}
		a := all[0].do("PATCH", slot, `{"capacity":2}`, `If-Match: "1"`)
		require.Equal(d, "409 capacity-below-reserved", a.kind())
		require.EqualValues(d, 3, a.json()["reserved"])

		for range 20 {
			slot := all[0].slot(5)
			got := all.together(func(i int, c *caller) answer {
				if i == 4 {
					return c.do("PATCH", slot, `{"capacity":2}`, `If-Match: "1"`)
				}
				return c.reserve(slot, fmt.Sprint("user-", i))
			})
			require.Equal(d, 1, got["200"]+got["409 capacity-below-reserved"], got)
			require.Equal(d, 9, got["200"]+got["409 capacity-below-reserved"]+got["201"]+got["409 slot-full"], got)
			want := 5
			if got["200"] == 1 {
				want = 2
			}
			require.Equal(d, want, got["201"], got)
			require.Equal(d, want, all[0].number(slot, "reserved"))
			require.Equal(d, want, all[0].number(slot, "capacity"))
		}
		d.sound()
	})
}

// Case 8: a slot is deleted while it is being reserved. Seen red with: live
// reservations looked at neither by DeleteSlot nor by the trigger.
func TestDeleteAgainstReservations(t *testing.T) {
	everywhere(t, func(d *desk) {
		all := d.crowd(5)
		slot := all[0].slot(3)
		require.Equal(d, 201, all[0].reserve(slot, "alice").status)
		require.Equal(d, "409 slot-has-reservations", all[0].do("DELETE", slot, "").kind())
		require.Equal(d, 204, all[0].do("DELETE", slot+"/reservations/alice", "").status)
		require.Equal(d, 204, all[0].do("DELETE", slot, "").status)

		for range 20 {
			slot := all[0].slot(5)
			got := all.together(func(i int, c *caller) answer {
				if i == 2 {
					return c.do("DELETE", slot, "")
				}
				return c.reserve(slot, fmt.Sprint("user-", i))
			})
			if got["204"] == 1 {
				require.Equal(d, map[string]int{"204": 1, "404 slot-not-found": 4}, got)
				require.Equal(d, "404 slot-not-found", all[0].do("GET", slot, "").kind())
			} else {
				require.Equal(d, map[string]int{"409 slot-has-reservations": 1, "201": 4}, got)
			}
		}
		d.sound()
	})
}

// A resource is taken once at a time, whoever asks for which part of the range.
func TestOneResourceForMany(t *testing.T) {
	everywhere(t, func(d *desk) {
		all := d.crowd(20)
		require.Equal(d, 201, all[0].do("POST", "/resources", `{"key":"mri-1","kind":"thing"}`).status)
		got := all.together(func(i int, c *caller) answer {
			return c.do("POST", "/resources/mri-1/bookings", fmt.Sprintf(`{"user_id":"u%d","starts_at":"2099-06-01T09:%02d:00Z","ends_at":"2099-06-01T10:%02d:00Z"}`, i, i, i))
		})
		require.Equal(d, map[string]int{"201": 1, "409 resource-busy": 19}, got)
		d.sound()
	})
}
