package api

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// Case 5.
func TestCancelledPlaceIsFree(t *testing.T) {
	everywhere(t, func(d *desk) {
		c := d.caller()
		slot := c.slot(1)
		require.Equal(d, 201, c.reserve(slot, "alice").status)
		require.Equal(d, "409 slot-full", c.reserve(slot, "bob").kind())
		require.Equal(d, 204, c.do("DELETE", slot+"/reservations/alice", "").status)
		require.Equal(d, 201, c.reserve(slot, "bob").status)
	})
}

// Cases 9 and 10: ranges are half-open, and a day is what its offset says.
// Seen red with: slot_list.sql comparing starts_at <= to.
func TestHalfOpenRanges(t *testing.T) {
	everywhere(t, func(d *desk) {
		c := d.caller()
		publish := func(from, to string) string {
			return c.do("POST", "/slots", fmt.Sprintf(`{"starts_at":"2026-06-01T%sZ","ends_at":"2026-06-01T%sZ","resource":"room"}`, from, to)).kind()
		}
		require.Equal(d, "201", publish("09:00:00", "09:30:00"))
		require.Equal(d, "201", publish("09:30:00", "10:00:00"))
		require.Equal(d, "409 slot-overlap", publish("09:29:59", "09:45:00"))
		require.Equal(d, "409 slot-overlap", publish("09:10:00", "09:20:00"))

		var ids []float64
		for _, at := range []string{"2026-06-01T06:59:59Z", "2026-06-01T07:00:00Z", "2026-06-02T00:30:00Z", "2026-06-02T06:59:59.999999Z", "2026-06-02T07:00:00Z"} {
			a := c.do("POST", "/slots", fmt.Sprintf(`{"starts_at":%q,"ends_at":"2026-07-01T00:00:00Z","capacity":1}`, at))
			require.Equal(d, 201, a.status, a.body)
			ids = append(ids, a.json()["id"].(float64))
		}
		for _, escape := range []func(string) string{url.QueryEscape, func(s string) string { return s }} {
			list := c.do("GET", "/slots?from="+escape("2026-06-01T00:00:00-07:00")+"&to="+escape("2026-06-02T00:00:00-07:00"), "")
			require.Equal(d, 200, list.status, list.body)
			var got []float64
			for _, item := range list.json()["items"].([]any) {
				if slot := item.(map[string]any); slot["resource"] == nil {
					got = append(got, slot["id"].(float64))
				}
			}
			require.Equal(d, ids[1:4], got)
		}
	})
}

// Cases 20 and 21: people are told apart in the same way on every engine.
// Seen red with: user ids not normalised to NFC.
func TestUsersAreComparedByteByByte(t *testing.T) {
	everywhere(t, func(d *desk) {
		c := d.caller()
		slot := c.slot(50)
		for _, user := range []string{"alice", "ALICE", "alicé", "ALİCE", "straße", "strasse", "ß", "ｱ", "ア", "1", "١", "日本語😀", "a\u200bb", "ab", "æ", "ae"} {
			require.Equal(d, "201", c.reserve(slot, user).kind(), user)
			require.Equal(d, "409 already-reserved", c.reserve(slot, user).kind(), user)
		}
		for _, user := range []string{"alice ", " alice", "alice\t", "alice\u00a0", "", "a\u0000b"} {
			a := c.reserve(slot, user)
			require.Equal(d, "422 validation-failed", a.kind(), "%q", user)
			require.Equal(d, []string{"#/user_id"}, a.pointers())
		}
		require.Equal(d, "201", c.reserve(slot, "j\u00fcrgen").kind())
		a := c.reserve(slot, "ju\u0308rgen")
		require.Equal(d, "409 already-reserved", a.kind())
		require.Equal(d, 204, c.do("DELETE", slot+"/reservations/ju%CC%88rgen", "").status)
		d.sound()
	})
}

// Case 22. Seen red with: path segments not decoded.
func TestPathsAreDecodedOnce(t *testing.T) {
	everywhere(t, func(d *desk) {
		c := d.caller()
		slot := c.slot(50)
		for user, path := range map[string]string{
			"محمد": "%D9%85%D8%AD%D9%85%D8%AF", "a b": "a%20b", "x/y": "x%2Fy", "%20": "%2520", "+": "+", "a+b": "a%2Bb", "..": "%2E%2E", "//": "%2F%2F", "?": "%3F",
		} {
			made := c.reserve(slot, user)
			require.Equal(d, 201, made.status, made.body)
			got := c.do("GET", made.header.Get("Location"), "")
			require.Equal(d, user, got.json()["user_id"], got.body)
			require.Equal(d, 204, c.do("DELETE", slot+"/reservations/"+path, "").status, user)
			require.Equal(d, "404 reservation-not-found", c.do("DELETE", slot+"/reservations/"+path, "").kind(), user)
		}
		require.Equal(d, 0, c.number(slot, "reserved"))
	})
}

// Case 24.
func TestOddCapacities(t *testing.T) {
	everywhere(t, func(d *desk) {
		c := d.caller()
		slot := c.slot(1)
		for _, odd := range []string{`-1`, `0`, `5.5`, `"5"`, `2147483648`, `null`, `1e400`, `1000001`} {
			for _, a := range []answer{
				c.do("POST", "/slots", `{"starts_at":"2099-06-01T09:00:00Z","ends_at":"2099-06-01T09:30:00Z","capacity":`+odd+`}`),
				c.do("PATCH", slot, `{"capacity":`+odd+`}`, `If-Match: "1"`),
			} {
				require.Equal(d, "422 validation-failed", a.kind(), odd)
				require.Equal(d, []string{"#/capacity"}, a.pointers(), odd)
			}
		}
		require.Equal(d, 1, c.number(slot, "version"))
		require.Equal(d, 1_000_000, c.number(c.slot(1_000_000), "available"))
	})
}

// Case 26.
func TestUnknownSlotIsNotFull(t *testing.T) {
	everywhere(t, func(d *desk) {
		c := d.caller()
		for _, id := range []string{"999999", "9223372036854775807", "0", "-1", "x", "9223372036854775808"} {
			path := "/slots/" + id
			require.Equal(d, "404 slot-not-found", c.reserve(path, "alice").kind(), id)
			for _, call := range [][2]string{{"GET", ""}, {"DELETE", ""}, {"GET", "/reservations"}, {"GET", "/reservations/alice"}, {"DELETE", "/reservations/alice"}, {"POST", "/reservations/alice/confirm"}} {
				require.Equal(d, "404 slot-not-found", c.do(call[0], path+call[1], "").kind(), id)
			}
			require.Equal(d, "404 slot-not-found", c.do("PATCH", path, `{"capacity":2}`, `If-Match: "1"`).kind(), id)
		}
	})
}

// Case 28.
func TestFieldsThatAreNotSwallowed(t *testing.T) {
	everywhere(t, func(d *desk) {
		c := d.caller()
		slot := c.slot(5)
		for body, field := range map[string]string{`{"user_id":"a","user_id":"b"}`: `"user_id"`, `{"user":"a"}`: `"user"`} {
			a := c.do("POST", slot+"/reservations", body)
			require.Equal(d, "400 malformed-request", a.kind())
			require.Contains(d, a.json()["detail"], field)
		}
		require.Equal(d, 0, c.number(slot, "reserved"))
	})
}
