package httpapi

import (
	"fmt"
	"testing"

	"slotkeeper/app"

	"github.com/stretchr/testify/require"
)

func TestReservationIsMadeReadConfirmedAndCancelled(t *testing.T) {
	b := start(t)
	slot := b.slotOf(2)
	a := b.do("POST", slot+"/reservations", `{"user_id":"alice","hold_seconds":300.0}`)
	require.Equal(t, 201, a.StatusCode, a.body)
	require.Equal(t, "/slots/1/reservations/alice", a.Header.Get("Location"))
	require.Equal(t, `{"id":1,"slot_id":1,"user_id":"alice","status":"held","created_at":"2000-01-01T00:00:00Z","expires_at":"2000-01-01T00:05:00Z"}`, a.body)
	require.Equal(t, a.body, b.do("GET", slot+"/reservations/alice", "").body)
	require.Equal(t, `{"items":[`+a.body+`],"next_cursor":null}`, b.do("GET", slot+"/reservations", "").body)

	// A body is not wanted, but an empty object is what some clients send.
	confirmed := b.do("POST", slot+"/reservations/alice/confirm", `{}`)
	require.Equal(t, 200, confirmed.StatusCode)
	require.Equal(t, `{"id":1,"slot_id":1,"user_id":"alice","status":"confirmed","created_at":"2000-01-01T00:00:00Z"}`, confirmed.body)
	b.problem(b.do("POST", slot+"/reservations/alice/confirm", `{"hold_seconds":5}`), 400, "malformed-request")
	b.problem(b.do("POST", slot+"/reservations/alice/confirm", `x`, "Content-Type: text/plain"), 415, "unsupported-media-type")

	b.store.fail = app.ErrHoldExpired
	b.problem(b.do("POST", slot+"/reservations/alice/confirm", ""), 409, "hold-expired")
	b.store.fail = nil

	b.problem(b.do("POST", slot+"/reservations", `{"user_id":"alice"}`), 409, "already-reserved")
	require.Equal(t, 201, b.do("POST", slot+"/reservations", `{"user_id":"bob"}`).StatusCode)
	b.problem(b.do("POST", slot+"/reservations", `{"user_id":"eve"}`), 409, "slot-full")
	require.Equal(t, 204, b.do("DELETE", slot+"/reservations/alice", "").StatusCode)
	b.problem(b.do("DELETE", slot+"/reservations/alice", ""), 404, "reservation-not-found")
	b.problem(b.do("GET", slot+"/reservations/alice", ""), 404, "reservation-not-found")
	b.problem(b.do("POST", "/slots/999999/reservations", `{"user_id":"a"}`), 404, "slot-not-found")
}

func TestAllowPast(t *testing.T) {
	b := start(t)
	a := b.do("POST", "/slots", `{"starts_at":"2001-01-01T00:00:00Z","ends_at":"2001-01-01T01:00:00Z","capacity":5}`)
	path := a.Header.Get("Location") + "/reservations"
	b.problem(b.do("POST", path, `{"user_id":"a"}`), 409, "slot-started")
	b.problem(b.do("POST", path, `{"user_id":"a","allow_past":false}`), 409, "slot-started")
	require.Equal(t, 201, b.do("POST", path, `{"user_id":"a","allow_past":true}`).StatusCode)
	require.Equal(t, 201, b.do("POST", "/reservations", `{"user_id":"b","slot_ids":[1],"allow_past":true}`).StatusCode)
}

// Seen red with: the many's cause found by errors.Is first (no errors listed).
func TestReserveAll(t *testing.T) {
	b := start(t)
	one, two := b.slotOf(1), b.slotOf(1)
	a := b.do("POST", "/reservations", `{"user_id":"alice","slot_ids":[1,2.0],"hold_seconds":60}`)
	require.Equal(t, 201, a.StatusCode, a.body)
	require.Empty(t, a.Header.Get("Location"))
	items := a.json["items"].([]any)
	require.Len(t, items, 2)
	require.EqualValues(t, 2, items[1].(map[string]any)["slot_id"])
	require.Equal(t, "held", items[0].(map[string]any)["status"])

	p := b.problem(b.do("POST", "/reservations", `{"user_id":"bob","slot_ids":[2,77,1]}`), 409, "slot-full")
	require.Equal(t, []string{"#/slot_ids/0", "#/slot_ids/1", "#/slot_ids/2"}, where(p, "pointer"))
	require.Equal(t, []string{"slot-full", "slot-not-found", "slot-full"}, where(p, "code"))
	require.Equal(t, "No place is left in this slot.", p["detail"])

	p = b.problem(b.do("POST", "/reservations", `{"user_id":"alice","slot_ids":[77,1]}`), 404, "slot-not-found")
	require.Equal(t, []string{"slot-not-found", "already-reserved"}, where(p, "code"))
	require.NotEqual(t, one, two)
	b.store.fail = fmt.Errorf("hold: %w", app.ErrUnsupported)
	b.problem(b.do("POST", "/reservations", `{"user_id":"alice","slot_ids":[1],"hold_seconds":9}`), 422, "not-supported")
}

func TestResources(t *testing.T) {
	b := start(t)
	a := b.do("POST", "/resources", `{"key":"mri-1","name":"MRI","kind":"thing"}`)
	require.Equal(t, 201, a.StatusCode, a.body)
	require.Equal(t, "/resources/mri-1", a.Header.Get("Location"))
	require.Equal(t, `{"id":1,"key":"mri-1","name":"MRI","kind":"thing"}`, a.body)
	require.Equal(t, a.body, b.do("GET", "/resources/mri-1", "").body)
	require.Equal(t, `{"items":[`+a.body+`],"next_cursor":null}`, b.do("GET", "/resources", "").body)
	p := b.problem(b.do("POST", "/resources", `{"key":"mri-1","kind":"place"}`), 409, "resource-exists")
	require.Equal(t, []string{"#/key"}, where(p, "pointer"))
	b.problem(b.do("GET", "/resources/MRI-1", ""), 404, "resource-not-found")
}

func TestBookings(t *testing.T) {
	b := start(t)
	require.Equal(t, 201, b.do("POST", "/resources", `{"key":"mri-1","kind":"thing"}`).StatusCode)
	a := b.do("POST", "/resources/mri-1/bookings", `{"user_id":"alice",`+future+`,"hold_seconds":60}`)
	require.Equal(t, 201, a.StatusCode, a.body)
	require.Empty(t, a.Header.Get("Location"), "a booking has no page of its own")
	require.Equal(t, `{"id":1,"resource":"mri-1","kind":"thing","user_id":"alice","starts_at":"2099-01-01T09:00:00Z","ends_at":"2099-01-01T09:30:00Z","status":"held","created_at":"2000-01-01T00:00:00Z","expires_at":"2000-01-01T00:01:00Z"}`, a.body)

	p := b.problem(b.do("POST", "/resources/mri-1/bookings", `{"user_id":"bob",`+future+`}`), 409, "resource-busy")
	require.Equal(t, []string{"#/starts_at"}, where(p, "pointer"))
	require.Equal(t, []string{"A live booking or a slot of the resource overlaps this range."}, where(p, "detail"))
	b.problem(b.do("POST", "/resources/mri-2/bookings", `{"user_id":"bob",`+future+`}`), 404, "resource-not-found")

	require.Equal(t, `{"items":[`+a.body+`],"next_cursor":null}`, b.do("GET", "/resources/mri-1/bookings?from=2099-01-01T00:00:00Z", "").body)
	b.problem(b.do("POST", "/bookings/1/confirm", ""), 409, "hold-expired")
	require.Equal(t, 204, b.do("DELETE", "/bookings/1", "").StatusCode)
	b.problem(b.do("DELETE", "/bookings/1", ""), 404, "booking-not-found")
	b.problem(b.do("POST", "/bookings/1/confirm", ""), 404, "booking-not-found")

	second := b.do("POST", "/resources/mri-1/bookings", `{"user_id":"bob",`+future+`}`)
	require.Equal(t, second.body, b.do("POST", "/bookings/2/confirm", "").body)
	b.problem(b.do("GET", "/bookings/2", ""), 405, "method-not-allowed")
}

// Seen red with: a *ValidationError within the many answered as 500.
func TestBookAll(t *testing.T) {
	b := start(t)
	for _, r := range []string{`{"key":"room-1","kind":"place"}`, `{"key":"mri-2","kind":"thing"}`} {
		require.Equal(t, 201, b.do("POST", "/resources", r).StatusCode)
	}
	body := func(resources string) string {
		return `{"user_id":"alice",` + future + `,"resources":[` + resources + `]}`
	}
	a := b.do("POST", "/bookings", body(`{"place":"room-1"},{"thing":"mri-2"}`))
	require.Equal(t, 201, a.StatusCode, a.body)
	items := a.json["items"].([]any)
	require.Equal(t, "room-1", items[0].(map[string]any)["resource"])
	require.Equal(t, "thing", items[1].(map[string]any)["kind"])

	p := b.problem(b.do("POST", "/bookings", body(`{"thing":"none"},{"place":"room-1"}`)), 404, "resource-not-found")
	require.Equal(t, []string{"#/resources/0", "#/resources/1"}, where(p, "pointer"))
	require.Equal(t, []string{"resource-not-found", "resource-busy"}, where(p, "code"))
	p = b.problem(b.do("POST", "/bookings", body(`{"place":"room-1"},{"thing":"mri-2"}`)), 409, "resource-busy")
	require.Len(t, p["errors"], 2)

	p = b.problem(b.do("POST", "/bookings", body(`{"place":"mri-2"}`)), 422, "validation-failed")
	require.Equal(t, []string{"#/resources/0"}, where(p, "pointer"))
	require.Equal(t, []string{"validation-failed"}, where(p, "code"))
	require.Equal(t, []string{"is a thing"}, where(p, "detail"))
}
