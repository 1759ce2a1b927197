package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Case 22: what was reserved in a body is found by its encoded path.
// Seen red with: fiber's UnescapePath (x%2Fy split, %2520 decoded twice);
// url.QueryUnescape (+ became a blank); fasthttp's normalised Path (dots and
// double slashes vanished).
func TestPathsAreDecodedOnce(t *testing.T) {
	b := start(t)
	slot := b.slotOf(100)
	for _, c := range []struct{ user, path string }{
		{"alice", "alice"},
		{"ALICE", "ALICE"},
		{"محمد", "%D9%85%D8%AD%D9%85%D8%AF"},
		{"a b", "a%20b"},
		{"x/y", "x%2Fy"},
		{"/", "%2f"},
		{"//", "%2F%2F"},
		{"%20", "%2520"},
		{"%2520", "%252520"},
		{"%", "%25"},
		{"+", "+"},
		{"1+1", "1%2B1"},
		{"a+b c", "a+b%20c"},
		{".", "."},
		{"..", ".."},
		{". .", "%2e%20%2E"},
		{"...", "%2e%2e%2e"},
		{"a?b#c", "a%3Fb%23c"},
		{"a:b@c;d,e=f&g!$'()*~", "a:b@c;d,e=f&g!$'()*~"},
		{"confirm", "confirm"},
		{`"\`, "%22%5C"},
		{"日本語😀", "%E6%97%A5%E6%9C%AC%E8%AA%9E%F0%9F%98%80"},
		{strings.Repeat("ж", 128), strings.Repeat("%D0%B6", 128)},
	} {
		t.Run(c.user, func(t *testing.T) {
			b := *b
			b.t = t
			body, err := json.Marshal(map[string]string{"user_id": c.user})
			require.NoError(t, err)
			made := b.do("POST", slot+"/reservations", string(body))
			require.Equal(t, 201, made.StatusCode, made.body)
			for _, path := range []string{slot + "/reservations/" + c.path, made.Header.Get("Location")} {
				got := b.do("GET", path, "")
				require.Equal(t, 200, got.StatusCode, path)
				require.Equal(t, c.user, got.json["user_id"])
				require.Equal(t, 200, b.do("POST", path+"/confirm", "").StatusCode, path)
			}
			require.Equal(t, 204, b.do("DELETE", slot+"/reservations/"+c.path, "").StatusCode)
			b.problem(b.do("DELETE", slot+"/reservations/"+c.path, ""), 404, "reservation-not-found")
		})
	}
}

// Dots alone are encoded in Location, since clients resolve them as a way up.
func TestLocationOfDots(t *testing.T) {
	b := start(t)
	slot := b.slotOf(2)
	a := b.do("POST", slot+"/reservations", `{"user_id":".."}`)
	require.Equal(t, slot+"/reservations/%2E%2E", a.Header.Get("Location"))
	require.Equal(t, 204, b.do("DELETE", slot+"/reservations/%2e%2e", "").StatusCode)
}

// Unescaped slashes and an empty segment make another path, not another user.
func TestPathsThatAreNone(t *testing.T) {
	b := start(t)
	slot := b.slotOf(2)
	require.Equal(t, 201, b.do("POST", slot+"/reservations", `{"user_id":"x/y"}`).StatusCode)
	for _, path := range []string{"/reservations/", "/reservations/x/y", "/reservations//", "/reservations///confirm", "//reservations/x%2Fy", "/", "/reservations/x%2Fy/"} {
		b.problem(b.do("DELETE", slot+path, ""), 404, "not-found")
	}
	for _, path := range []string{"/Slots/1", "/slots/../slots/1", "/./slots", "//slots", "/slots/", "/docs/"} {
		b.problem(b.do("GET", path, ""), 404, "not-found")
	}
	for _, broken := range []string{"%zz", "%", "a%2", "%%20"} {
		p := b.problem(b.do("GET", slot+"/reservations/"+broken, ""), 400, "malformed-request")
		require.Equal(t, slot+"/reservations/"+broken, p["instance"])
		b.problem(b.do("GET", "/resources/"+broken, ""), 400, "malformed-request")
	}
	// What cannot be a user's id or a key names nothing.
	for _, odd := range []string{"%FF", "%00", "%20a", "a%0A", strings.Repeat("x", 129)} {
		b.problem(b.do("GET", slot+"/reservations/"+odd, ""), 404, "reservation-not-found")
		b.problem(b.do("POST", slot+"/reservations/"+odd+"/confirm", ""), 404, "reservation-not-found")
		b.problem(b.do("DELETE", slot+"/reservations/"+odd, ""), 404, "reservation-not-found")
		b.problem(b.do("GET", "/resources/"+odd, ""), 404, "resource-not-found")
		b.problem(b.do("GET", "/resources/"+odd+"/bookings", ""), 404, "resource-not-found")
		b.problem(b.do("POST", "/resources/"+odd+"/bookings", `{"user_id":"a",`+future+`}`), 404, "resource-not-found")
	}
}

// Seen red with: strconv.Atoi alone (+1 and 01 were slots; a negative id went
// to the database).
func TestOddIDs(t *testing.T) {
	b := start(t)
	b.slotOf(2)
	b.store.fail = errNoStore // which must not be asked
	for _, id := range []string{"0", "-1", "+1", "01", "abc", "1.0", "9223372036854775808", "1e0", "%31x", "0x1", "%20", "1_0"} {
		for method, path := range map[string]string{"GET": "", "PATCH": "", "DELETE": "", "POST": "/reservations"} {
			body := map[string]string{"PATCH": `{"capacity":3}`, "POST": `{"user_id":"a"}`}[method]
			b.problem(b.do(method, "/slots/"+id+path, body, `If-Match: "1"`), 404, "slot-not-found")
		}
		b.problem(b.do("DELETE", "/bookings/"+id, ""), 404, "booking-not-found")
		b.problem(b.do("POST", "/bookings/"+id+"/confirm", ""), 404, "booking-not-found")
	}
	b.store.fail = nil
	b.problem(b.do("GET", "/slots/999999", ""), 404, "slot-not-found")
	b.problem(b.do("GET", "/slots/9223372036854775807", ""), 404, "slot-not-found")
}

func TestResourceKeysInPaths(t *testing.T) {
	b := start(t)
	for _, key := range []string{"mri-1", "Saal 3/b", "%41", "..", "é+e"} {
		a := b.do("POST", "/resources", fmt.Sprintf(`{"key":%q,"kind":"thing"}`, key))
		require.Equal(t, 201, a.StatusCode, a.body)
		require.Equal(t, key, a.json["name"], "the key, where no name is given")
		at := a.Header.Get("Location")
		require.Equal(t, key, b.do("GET", at, "").json["key"])
		require.Equal(t, 201, b.do("POST", at+"/bookings", `{"user_id":"a",`+future+`}`).StatusCode)
		require.Len(t, b.do("GET", at+"/bookings", "").json["items"], 1)
		free := b.do("GET", at+"/free?from=2099-01-01T00:00:00Z&to=2099-01-02T00:00:00Z", "")
		require.Equal(t, []any{map[string]any{"starts_at": "2099-01-01T00:00:00Z", "ends_at": "2099-01-02T00:00:00Z"}}, free.json["items"])
	}
}

// A user id is kept by the store beyond the request, whose buffers are used
// again. Seen red with: c.Params(name) returned as it is.
func TestTextOutlivesTheRequest(t *testing.T) {
	b := start(t)
	slot := b.slotOf(100)
	var kept []string
	for i := range 40 {
		user := fmt.Sprintf("user-%02d-%s", i, strings.Repeat("x", i))
		a := b.do("POST", slot+"/reservations", `{"user_id":"`+user+`"}`)
		require.Equal(t, 201, a.StatusCode)
		kept = append(kept, user)
	}
	for i, r := range b.store.places {
		require.Equal(t, kept[i], r.UserID)
	}
	require.Equal(t, 201, b.do("POST", "/resources", `{"key":"some-key","kind":"place"}`).StatusCode)
	conn, from := b.dial()
	_, err := io.WriteString(conn, b.request("POST", "/resources/some-key/bookings", `{"user_id":"a",`+future+`}`))
	require.NoError(t, err)
	require.Equal(t, 201, b.read("POST", from).StatusCode)
	_, err = io.WriteString(conn, b.request("GET", "/resources/xxxx-xxx/bookings", ""))
	require.NoError(t, err)
	b.problem(b.read("GET", from), 404, "resource-not-found")
	require.Equal(t, "some-key", b.store.bookings[0].Resource)
}
