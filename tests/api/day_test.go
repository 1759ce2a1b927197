package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A clinic's day: each call once and in an order that makes sense, so that
// each engine's answers are held against the document.
func TestDay(t *testing.T) {
	everywhere(t, func(d *desk) {
		c := d.caller()
		expect := func(kind, method, target, body string, headers ...string) answer {
			d.Helper()
			a := c.do(method, target, body, headers...)
			require.Equal(d, kind, a.kind(), "%s %s: %s", method, target, a.body)
			return a
		}
		expect("200", "GET", "/readyz", "")
		expect("201", "POST", "/resources", `{"key":"room-1","name":"Room 1","kind":"place"}`)
		expect("201", "POST", "/resources", `{"key":"mri-2","kind":"thing"}`)
		expect("409 resource-exists", "POST", "/resources", `{"key":"mri-2","kind":"thing"}`)
		expect("200", "GET", "/resources/room-1", "")
		require.Len(d, expect("200", "GET", "/resources", "").json()["items"], 2)

		slot := expect("201", "POST", "/slots", `{"starts_at":"2099-06-01T09:00:00+00:00","ends_at":"2099-06-01T09:20:00Z","capacity":2,"resource":"dr-lind"}`)
		path := slot.header.Get("Location")
		require.Equal(d, slot.body, expect("200", "GET", path, "").body)
		require.Equal(d, "place", expect("200", "GET", "/resources/dr-lind", "").json()["kind"])
		expect("200", "PATCH", path, `{"capacity":3}`, "If-Match: "+slot.header.Get("ETag"))
		expect("412 version-mismatch", "PATCH", path, `{"capacity":4}`, "If-Match: "+slot.header.Get("ETag"))
		expect("428 version-required", "PATCH", path, `{"capacity":4}`)
		edited := expect("200", "PATCH", path, `{"ends_at":"2099-06-01T09:30:00Z"}`, "If-Match: *")
		require.Equal(d, `"3"`, edited.header.Get("ETag"))

		held := expect("201", "POST", path+"/reservations", `{"user_id":"alice","hold_seconds":600}`)
		require.Equal(d, "held", held.json()["status"])
		require.NotEmpty(d, held.json()["expires_at"])
		confirmed := expect("200", "POST", path+"/reservations/alice/confirm", "")
		require.Equal(d, "confirmed", confirmed.json()["status"])
		require.NotContains(d, confirmed.json(), "expires_at")
		require.Equal(d, confirmed.body, expect("200", "POST", path+"/reservations/alice/confirm", "").body)
		require.Equal(d, confirmed.body, expect("200", "GET", held.header.Get("Location"), "").body)
		require.Equal(d, `"3"`, expect("200", "GET", path, "").header.Get("ETag"), "a reservation is no edit")

		other := c.slot(1)
		ids := path[len("/slots/"):] + "," + other[len("/slots/"):]
		expect("201", "POST", "/reservations", `{"user_id":"bob","slot_ids":[`+ids+`]}`)
		refused := expect("409 slot-full", "POST", "/reservations", `{"user_id":"carol","slot_ids":[`+ids+`]}`)
		require.Equal(d, []string{"#/slot_ids/1"}, refused.pointers())
		require.Equal(d, 1, c.number(path, "available"), "all or none")
		require.Len(d, expect("200", "GET", path+"/reservations", "").json()["items"], 2)

		both := `{"user_id":"bob","starts_at":"2099-06-01T10:00:00Z","ends_at":"2099-06-01T11:00:00Z","resources":[{"place":"room-1"},{"thing":"mri-2"}]}`
		booked := expect("201", "POST", "/bookings", both).json()["items"].([]any)
		require.Len(d, booked, 2)
		require.Equal(d, []string{"#/resources/0", "#/resources/1"}, expect("409 resource-busy", "POST", "/bookings", both).pointers())
		expect("422 validation-failed", "POST", "/bookings", strings.Replace(both, `"place":"room-1"`, `"thing":"room-1"`, 1))
		busy := expect("409 resource-busy", "POST", "/resources/room-1/bookings", `{"user_id":"eve","starts_at":"2099-06-01T10:59:00Z","ends_at":"2099-06-01T12:00:00Z"}`)
		require.Equal(d, []string{"#/starts_at"}, busy.pointers())
		free := expect("200", "GET", "/resources/room-1/free?from=2099-06-01T09:00:00Z&to=2099-06-01T12:00:00Z&minutes=30", "")
		require.Equal(d, `{"items":[{"starts_at":"2099-06-01T09:00:00Z","ends_at":"2099-06-01T10:00:00Z"},{"starts_at":"2099-06-01T11:00:00Z","ends_at":"2099-06-01T12:00:00Z"}]}`, free.body)
		require.Len(d, expect("200", "GET", "/resources/room-1/bookings?from=2099-06-01T00:00:00Z", "").json()["items"], 1)
		hold := expect("201", "POST", "/resources/room-1/bookings", `{"user_id":"eve","starts_at":"2099-06-01T11:00:00Z","ends_at":"2099-06-01T12:00:00Z","hold_seconds":60}`)
		booking := fmt.Sprintf("/bookings/%.0f", hold.json()["id"])
		require.Equal(d, "confirmed", expect("200", "POST", booking+"/confirm", "").json()["status"])
		expect("204", "DELETE", booking, "")
		expect("404 booking-not-found", "DELETE", booking, "")

		expect("409 slot-has-reservations", "DELETE", path, "")
		expect("204", "DELETE", path+"/reservations/bob", "")
		expect("204", "DELETE", path+"/reservations/alice", "")
		expect("412 version-mismatch", "DELETE", path, "", `If-Match: "1"`)
		expect("204", "DELETE", path, "", `If-Match: "3"`)
		for _, page := range []string{"/livez", "/metrics", "/docs", "/problems/busy"} {
			expect("200", "GET", page, "")
		}
		d.sound()
	})
}

// A list in pages is the list, and one query finds what is free. Seen red
// with: slot_list.sql beginning at the cursor's slot again.
func TestPages(t *testing.T) {
	everywhere(t, func(d *desk) {
		c := d.caller()
		for hour := range 12 {
			a := c.do("POST", "/slots", fmt.Sprintf(`{"starts_at":"2099-06-01T%02d:00:00Z","ends_at":"2099-06-01T%02d:%02d:00Z","resource":"r%d"}`, hour, hour, 10+hour%2*20, hour%2))
			require.Equal(d, 201, a.status, a.body)
			if hour%4 == 1 {
				require.Equal(d, 201, c.reserve(a.header.Get("Location"), "alice").status)
			}
		}
		for query, want := range map[string]int{"limit=5": 12, "limit=1&resource=r1": 6, "limit=4&available=true": 9, "limit=2&minutes=30&available=true": 3, "limit=500": 12} {
			seen, target := map[any]bool{}, "/slots?"+query
			var last string
			for target != "" {
				a := c.do("GET", target, "")
				require.Equal(d, 200, a.status, a.body)
				for _, item := range a.json()["items"].([]any) {
					slot := item.(map[string]any)
					require.False(d, seen[slot["id"]], "twice")
					require.Greater(d, slot["starts_at"], last, "in order")
					seen[slot["id"]], last = true, slot["starts_at"].(string)
				}
				target = strings.TrimSuffix(strings.TrimPrefix(a.header.Get("Link"), "<"), `>; rel="next"`)
			}
			require.Len(d, seen, want, query)
		}
	})
}
