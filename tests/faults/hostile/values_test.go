package hostile

import "fmt"

// Numbers as JSON has them, and what is none.
var (
	notNumbers = []string{"NaN", "Infinity", "-Infinity", "+1", ".5", "5.", "01", "-01", "0x10", "1_000", "1e", "٣", "--1", "1,5"}
	badNumbers = []string{"-1", "0", "-0", "0.0", "-0.0e5", "5.5", "1e-1", "1e400", "-1e400", "1e-400", "2147483648", "4294967297", "9223372036854775807", "9223372036854775808",
		"18446744073709551616", "18446744073709551617", "1e18", "99999999999999999999999999999999", `"5"`, `" 5"`, "null", "true", "[5]", "{}", "1.0000000000000002"}
	oneInDisguise = []string{"1", "1.0", "1e0", "10e-1", "0.1e1", "1.000000000000000000000000000000000000"}
)

// numbers go where an integer is wanted.
func numbers(round int) []hostile {
	var all []hostile
	add := func(what, n, raw, want string) {
		all = append(all, one("numbers", what+" "+n, raw, want))
	}
	for _, n := range notNumbers {
		add("capacity", n, request("POST", "/slots", `{`+range0+`,"capacity":`+n+`}`), malformed)
		add("hold", n, request("POST", "/slots/2/reservations", `{"user_id":"hold","hold_seconds":`+n+`}`), malformed)
		if n != "1,5" { // which are two
			add("ids", n, request("POST", "/reservations", `{"user_id":"ids","slot_ids":[`+n+`]}`), malformed)
		}
	}
	for _, n := range badNumbers {
		add("capacity", n, request("POST", "/slots", `{`+range0+`,"capacity":`+n+`}`), invalid)
		add("edit", n, request("PATCH", "/slots/2", `{"capacity":`+n+`}`, `If-Match: "1"`), invalid)
		if n != "null" {
			add("hold", n, request("POST", "/slots/2/reservations", `{"user_id":"hold","hold_seconds":`+n+`}`), invalid)
		}
	}
	for i, n := range oneInDisguise {
		add("capacity", n, request("POST", "/slots", `{`+range0+`,"capacity":`+n+`}`), "201")
		add("hold", n, request("POST", "/slots/2/reservations", fmt.Sprintf(`{"user_id":"hold-%d-%d","hold_seconds":%s}`, round, i, n)), "201")
	}
	for _, n := range []string{"0", "-1", "-0", "1.5", "1e400", "9223372036854775808", `"1"`, "null", "[]"} {
		add("ids", n, request("POST", "/reservations", `{"user_id":"ids","slot_ids":[`+n+`]}`), invalid)
	}
	add("ids", "far", request("POST", "/reservations", `{"user_id":"ids","slot_ids":[9223372036854775807]}`), noSlot)
	for _, id := range []string{"0", "-1", "-0", "+1", "01", "1.0", "1e0", "0x1", "1_0", "9223372036854775807", "9223372036854775808", "18446744073709551617", "NaN", "%31x", "%20", "1%20", "%2B1", "١", "１", "1%00", "1'", "null"} {
		for _, call := range [][3]string{{"GET", "", ""}, {"DELETE", "", ""}, {"PATCH", "", `{"capacity":5}`}, {"POST", "/reservations", `{"user_id":"id"}`}, {"GET", "/reservations/alice", ""}} {
			add(call[0]+call[1], id, request(call[0], "/slots/"+id+call[1], call[2], `If-Match: "1"`), noSlot)
		}
		add("booking", id, request("DELETE", "/bookings/"+id, ""), "404 booking-not-found")
		add("confirm", id, request("POST", "/bookings/"+id+"/confirm", ""), "404 booking-not-found")
	}
	for _, n := range []string{"0", "-1", "+5", "501", "1e1", "5.0", "0x5", "%35x", "", "%20", "NaN", "9223372036854775808", "18446744073709551617", "٣", "5%00"} {
		add("limit", n, request("GET", "/slots?limit="+n, ""), invalid)
		add("minutes", n, request("GET", "/slots?minutes="+n+"x", ""), invalid)
	}
	return all
}

// times go where a time is wanted: in a body and in a query.
func times() []hostile {
	var all []hostile
	for _, at := range []string{"", "now", "0", "4070941200", "2097-01-01", "2097-01-01T09:00:00", "2097-01-01 09:00:00Z", "2097-01-01T09:00Z", "2097-01-01T9:00:00Z",
		"0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "1899-12-31T23:59:59Z", "9999-01-01T00:00:00Z", "9998-12-31T23:59:59-12:00", "10000-01-01T00:00:00Z", "-2097-01-01T00:00:00Z", "+2097-01-01T00:00:00Z",
		"2096-12-31T23:59:60Z", "2097-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2097-00-01T00:00:00Z", "2097-13-01T00:00:00Z", "2097-01-32T00:00:00Z", "2097-01-01T24:00:00Z", "2097-01-01T09:60:00Z",
		"2097-01-01T09:00:00+24:00", "2097-01-01T09:00:00-24:00", "2097-01-01T09:00:00+23:60", "2097-01-01T09:00:00+1", "2097-01-01T09:00:00+0100", "2097-01-01T09:00:00UTC", "2097-01-01T09:00:00[Europe/Berlin]",
		"2097-01-01T09:00:00,5Z", "2097-01-01T09:00:00.Z", "2097-W01-1T09:00:00Z", "2097-001T09:00:00Z", "infinity", "-infinity", "epoch", "today", "2097-01-01T09:00:00Z'--", "2097-01-01T09:00:00Z\\u0000", "２０９７-01-01T09:00:00Z"} {
		all = append(all, one("times", "start "+at, request("POST", "/slots", `{"starts_at":"`+at+`","ends_at":"2097-01-01T10:00:00Z"}`), invalid))
	}
	for _, at := range []string{"", "now", "2097-01-01", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "2096-12-31T23:59:60Z", "2097-01-01T09:00:00+24:00", "infinity", "2097-01-01T09:00:00Z%00", "%00", "%FF", "2097-01-01T09:00:00Z%27--"} {
		all = append(all, one("times", "from "+at, request("GET", "/slots?from="+at, ""), invalid))
		all = append(all, one("times", "free to "+at, request("GET", "/resources/room/free?from=2097-01-01T00:00:00Z&to="+at, ""), invalid))
	}
	for _, at := range []string{"1900-01-01T00:00:00Z", "1900-01-01T23:59:00+23:59", "2096-02-29T23:59:59.999999999-23:59", "2097-01-01t00:00:00z", "1969-12-31T23:59:59.5Z", "2000-01-01T00:00:00-00:00", "1900-01-01T00:00:00.000000000000000000000001Z"} {
		all = append(all, one("times", "start "+at, request("POST", "/slots", `{"starts_at":"`+at+`","ends_at":"9998-12-31T23:59:59.9999999Z"}`), "201"))
	}
	return all
}
