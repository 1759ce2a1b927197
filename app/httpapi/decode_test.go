package httpapi

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const future = `"starts_at":"2099-01-01T09:00:00Z","ends_at":"2099-01-01T09:30:00Z"`

// Seen red with: jsontext.AllowDuplicateNames(true); the check for unknown
// names left out; the check for trailing data left out; json.Decoder in place
// of jsontext (broken UTF-8 went through).
func TestMalformedBody(t *testing.T) {
	b := start(t)
	slot := b.slotOf(5)
	for name, c := range map[string]struct{ body, names, pointer string }{
		"not JSON":                {body: `user_id=alice`},
		"ends early":              {body: `{"user_id":"alice"`},
		"blank":                   {body: ` `},
		"an array":                {body: `[]`},
		"a string":                {body: `"alice"`},
		"null":                    {body: `null`},
		"two objects":             {body: `{"user_id":"a"}{"user_id":"b"}`},
		"trailing comma":          {body: `{"user_id":"a",}`},
		"trailing text":           {body: `{"user_id":"a"} x`},
		"byte order mark":         {body: "\xef\xbb\xbf{\"user_id\":\"a\"}"},
		"broken UTF-8":            {body: "{\"user_id\":\"a\xff\"}"},
		"half a surrogate":        {body: `{"user_id":"\ud800"}`},
		"NaN":                     {body: `{"user_id":"a","hold_seconds":NaN}`},
		"unknown":                 {body: `{"user":"a"}`, names: `"user"`, pointer: "#/user"},
		"unknown beside a bad":    {body: `{"user_id":5,"user":"a"}`, names: `"user"`, pointer: "#/user"},
		"unknown by case":         {body: `{"user_id":"a","Hold_seconds":5}`, names: `"Hold_seconds"`, pointer: "#/Hold_seconds"},
		"unknown with odd name":   {body: `{"user_id":"a","a/b c":5}`, names: `"a/b c"`, pointer: "#/a~1b%20c"},
		"repeated":                {body: `{"user_id":"a","user_id":"b"}`, names: `"user_id"`, pointer: "#/user_id"},
		"repeated, spelled apart": {body: `{"user_id":"a","user\u005fid":"b"}`, names: `"user_id"`, pointer: "#/user_id"},
		"repeated further in":     {body: `{"user_id":{"x":1,"x":2}}`, names: `"x"`, pointer: "#/user_id/x"},
	} {
		t.Run(name, func(t *testing.T) {
			b := *b
			b.t = t
			p := b.problem(b.do("POST", slot+"/reservations", c.body), 400, "malformed-request")
			require.Contains(t, p["detail"], c.names)
			if c.pointer != "" {
				require.Equal(t, []string{c.pointer}, where(p, "pointer"))
			}
		})
	}
	require.Equal(t, 400, b.do("POST", slot+"/reservations", "", "Content-Type: application/json", "Content-Length: 0").StatusCode)
	b.problem(b.do("POST", slot+"/reservations", ""), 400, "malformed-request")
	require.Empty(t, b.store.places, "none of them may reserve")
}

func TestUnknownAndRepeatedFurtherIn(t *testing.T) {
	b := start(t)
	body := func(item string) string {
		return `{"user_id":"a",` + future + `,"resources":[{"place":"r"},` + item + `]}`
	}
	p := b.problem(b.do("POST", "/bookings", body(`{"room":"r"}`)), 400, "malformed-request")
	require.Equal(t, []string{"#/resources/1/room"}, where(p, "pointer"))
	require.Contains(t, p["detail"], `"room"`)
	p = b.problem(b.do("POST", "/bookings", body(`{"thing":"r","thing":"s"}`)), 400, "malformed-request")
	require.Equal(t, []string{"#/resources/1/thing"}, where(p, "pointer"))
}

// Seen red with: ParseMediaType's parameters not looked at; Content-Encoding
// not looked at.
func TestContentType(t *testing.T) {
	b := start(t)
	slot := b.slotOf(50)
	for header, status := range map[string]int{
		"Content-Type: application/json":                     201,
		"Content-Type: application/json; charset=utf-8":      201,
		"Content-Type: Application/JSON;charset=\"UTF-8\"":   201,
		"Content-Type: application/json; charset=iso-8859-1": 415,
		"Content-Type: application/json; version=2":          415,
		"Content-Type: text/json":                            415,
		"Content-Type: application/x-www-form-urlencoded":    415,
		"Content-Type: multipart/form-data; boundary=x":      415,
		"Content-Type: application/json, text/plain":         415,
		"Content-Type:": 415,
		"Content-Type: application/json\r\nContent-Encoding: gzip":         415,
		"Content-Type: application/json\r\nContent-Encoding: identity":     201,
		"Content-Type: application/merge-patch+json":                       415,
		"content-type: application/json; charset=utf-8\r\nX-Other: header": 201,
	} {
		user := strings.NewReplacer(" ", "", "\r\n", "", "\"", "").Replace(header)
		a := b.do("POST", slot+"/reservations", `{"user_id":"`+user+`"}`, header)
		require.Equal(t, status, a.StatusCode, "%s: %s", header, a.body)
		if status == 415 {
			b.problem(a, 415, "unsupported-media-type")
		}
	}
}

// Case 24. Seen red with: numbers with a fraction cut to integers.
func TestOddCapacities(t *testing.T) {
	b := start(t)
	for _, odd := range []string{`-1`, `0`, `5.5`, `"5"`, `2147483648`, `1000001`, `null`, `1e400`, `-1e400`, `9223372036854775808`, `1e18`, `true`, `[5]`, `{}`, `5.0000001`} {
		p := b.problem(b.do("POST", "/slots", `{`+future+`,"capacity":`+odd+`}`), 422, "validation-failed")
		require.Equal(t, []string{"#/capacity"}, where(p, "pointer"), odd)
	}
	require.Empty(t, b.store.slots)
	for good, n := range map[string]int{`1`: 1, `5.0`: 5, `5e0`: 5, `0.5e1`: 5, `1e6`: 1_000_000, `1000000`: 1_000_000} {
		a := b.do("POST", "/slots", `{`+future+`,"capacity":`+good+`}`)
		require.Equal(t, 201, a.StatusCode, a.body)
		require.EqualValues(t, n, a.json["capacity"])
	}
	require.EqualValues(t, 1, b.do("POST", "/slots", `{`+future+`}`).json["capacity"], "the default")
}

// Every bad field is named at once, whether its type or its value is wrong.
// Seen red with: fields.join returning the getters' errors alone; returning
// app's as well where the getters named the field; the values not spoiled (a
// slot was made of what was left); capacity's bounds left to app.
func TestEveryBadFieldIsNamed(t *testing.T) {
	b := start(t)
	slot := b.slotOf(5)
	for name, c := range map[string]struct {
		method, path, body string
		want               []string
	}{
		"slot, all missing": {"POST", "/slots", `{}`, []string{"#/starts_at", "#/ends_at"}},
		"slot, all bad": {"POST", "/slots", `{"starts_at":"tomorrow","ends_at":5,"capacity":"x","resource":null}`,
			[]string{"#/starts_at", "#/ends_at", "#/capacity", "#/resource"}},
		"slot, types and values": {"POST", "/slots", `{"starts_at":"2099-01-01T10:00:00Z","ends_at":"2099-01-01T09:00:00Z","capacity":0,"resource":" x"}`,
			[]string{"#/capacity", "#/resource", "#/ends_at"}},
		"slot, a range and a type": {"POST", "/slots", `{"starts_at":5,"ends_at":"2099-01-01T09:00:00Z","capacity":0}`,
			[]string{"#/starts_at", "#/capacity"}},
		"slot, empty resource":     {"POST", "/slots", `{` + future + `,"resource":""}`, []string{"#/resource"}},
		"reservation, all bad":     {"POST", slot + "/reservations", `{"user_id":"alice ","hold_seconds":1.5,"allow_past":"yes"}`, []string{"#/hold_seconds", "#/allow_past", "#/user_id"}},
		"reservation, hold 0":      {"POST", slot + "/reservations", `{"user_id":"a","hold_seconds":0}`, []string{"#/hold_seconds"}},
		"reservation, hold long":   {"POST", slot + "/reservations", `{"user_id":"a","hold_seconds":86401}`, []string{"#/hold_seconds"}},
		"reservation, hold large":  {"POST", slot + "/reservations", `{"user_id":"a","hold_seconds":9223372036854775807}`, []string{"#/hold_seconds"}},
		"reservation, hold null":   {"POST", slot + "/reservations", `{"user_id":"a","hold_seconds":null}`, []string{"#/hold_seconds"}},
		"reservation, past null":   {"POST", slot + "/reservations", `{"user_id":"a","allow_past":null}`, []string{"#/allow_past"}},
		"reservation, no user":     {"POST", slot + "/reservations", `{}`, []string{"#/user_id"}},
		"reservation, user number": {"POST", slot + "/reservations", `{"user_id":7}`, []string{"#/user_id"}},
		"reservation, user long":   {"POST", slot + "/reservations", `{"user_id":"` + strings.Repeat("x", 129) + `"}`, []string{"#/user_id"}},
		"reservation, user control": {"POST", slot + "/reservations", `{"user_id":"a\u0000b"}`,
			[]string{"#/user_id"}},
		"edit, nothing":         {"PATCH", slot, `{}`, []string{"#"}},
		"edit, all bad":         {"PATCH", slot, `{"capacity":null,"starts_at":"x","ends_at":"2300-02-30T00:00:00Z"}`, []string{"#/starts_at", "#/ends_at", "#/capacity"}},
		"edit, types and order": {"PATCH", slot, `{"capacity":0,"starts_at":"2099-01-01T10:00:00Z","ends_at":"2099-01-01T09:00:00Z"}`, []string{"#/capacity", "#/ends_at"}},
		"edit, backwards":       {"PATCH", slot, `{"starts_at":"2099-01-01T10:00:00Z"}`, []string{"#/starts_at"}},
		"resource, all bad":     {"POST", "/resources", `{"key":" ","name":"","kind":"person"}`, []string{"#/name", "#/kind", "#/key"}},
		"resource, kind empty":  {"POST", "/resources", `{"key":"a","name":7,"kind":""}`, []string{"#/name", "#/kind"}},
		"resource, missing":     {"POST", "/resources", `{}`, []string{"#/key", "#/kind"}},
		"several, all bad": {"POST", "/reservations", `{"user_id":"","slot_ids":[1,"2",2.5,1,0,null,-3],"hold_seconds":"1"}`,
			[]string{"#/hold_seconds", "#/slot_ids/1", "#/slot_ids/2", "#/slot_ids/4", "#/slot_ids/5", "#/slot_ids/6", "#/slot_ids/3", "#/user_id"}},
		"several, none":      {"POST", "/reservations", `{"user_id":"a","slot_ids":[]}`, []string{"#/slot_ids"}},
		"several, no list":   {"POST", "/reservations", `{"user_id":"a","slot_ids":7}`, []string{"#/slot_ids"}},
		"several, missing":   {"POST", "/reservations", `{"user_id":"a"}`, []string{"#/slot_ids"}},
		"several, too many":  {"POST", "/reservations", `{"user_id":"a","slot_ids":[` + numbers(51) + `]}`, []string{"#/slot_ids"}},
		"several, very many": {"POST", "/reservations", `{"user_id":"a","slot_ids":[` + numbers(9000) + `]}`, []string{"#/slot_ids"}},
		"several, twice":     {"POST", "/reservations", `{"user_id":"a","slot_ids":[1,2,1]}`, []string{"#/slot_ids/2"}},
		"bookings, all bad": {"POST", "/bookings", `{"user_id":5,"starts_at":"x","hold_seconds":0,"resources":[{},{"place":"a","thing":"b"},{"place":null},{"thing":5},7,{"place":" a"},{"place":"ok"},{"thing":"ok"}]}`,
			[]string{"#/resources/0", "#/resources/1", "#/resources/2/place", "#/resources/3/thing", "#/resources/4", "#/user_id", "#/starts_at", "#/ends_at", "#/hold_seconds", "#/resources/5", "#/resources/7"}},
		"bookings, none": {"POST", "/bookings", `{"user_id":"a",` + future + `,"resources":[]}`, []string{"#/resources"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := *b
			b.t = t
			p := b.problem(b.do(c.method, c.path, c.body, `If-Match: "1"`), 422, "validation-failed")
			require.ElementsMatch(t, c.want, where(p, "pointer"), "%v", p["errors"])
		})
	}
	require.Len(t, b.store.slots, 1)
	require.EqualValues(t, 1, b.store.slots[0].Version)
	require.Empty(t, b.store.places)
	require.Empty(t, b.store.bookings)
	require.Empty(t, b.store.resources)
}

// numbers lists 1 to n.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("," + strconv.Itoa(i+1))
	}
	return b.String()[1:]
}

// time.Parse(time.RFC3339) alone takes a one-digit hour and a comma.
func TestTimes(t *testing.T) {
	b := start(t)
	for given, want := range map[string]string{
		"2099-01-01T10:00:00+01:00":      "2099-01-01T09:00:00Z",
		"2099-01-01t09:00:00z":           "2099-01-01T09:00:00Z",
		"2099-01-01T09:00:00.5Z":         "2099-01-01T09:00:00.5Z",
		"2099-01-01T09:00:00.123456789Z": "2099-01-01T09:00:00.123456Z",
		"2099-01-01T09:00:00.000000Z":    "2099-01-01T09:00:00Z",
		"2098-12-31T23:59:59-00:00":      "2098-12-31T23:59:59Z",
		"2096-02-29T00:00:00Z":           "2096-02-29T00:00:00Z",
	} {
		a := b.do("POST", "/slots", `{"starts_at":"`+given+`","ends_at":"2100-01-01T00:00:00Z"}`)
		require.Equal(t, 201, a.StatusCode, "%s: %s", given, a.body)
		require.Equal(t, want, a.json["starts_at"])
	}
	for _, given := range []string{"2099-01-01T09:00:00", "2099-01-01", "2099-01-01 09:00:00Z", "2099-01-01T9:00:00Z", "2099-01-01T09:00:00,5Z",
		"2099-01-01T09:00Z", "2098-12-31T23:59:60Z", "2099-02-29T00:00:00Z", "2099-13-01T00:00:00Z", "2099-01-01T24:00:00Z", "2099-01-01T09:00:00+24:00", "2099-01-01T09:00:00-01:60",
		"2099-01-01T09:00:00+0100", "0001-01-01T00:00:00Z", "9999-01-01T00:00:00Z", "4070941200", "", "2099-01-01T09:00:00Z ", "٢٠٩٩-01-01T09:00:00Z"} {
		p := b.problem(b.do("POST", "/slots", `{"starts_at":"`+given+`","ends_at":"2100-01-01T00:00:00Z"}`), 422, "validation-failed")
		require.Equal(t, []string{"#/starts_at"}, where(p, "pointer"), given)
	}
}
