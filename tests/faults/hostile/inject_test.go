package hostile

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"slotkeeper/tests/served"
)

// payloads try to end what they stand in: a literal, a comment, a name, a line
// of a log, a header, a page. Those with control characters no id may have.
func payloads() (plain, control []string) {
	return []string{
			`' OR '1'='1`, `'; DROP TABLE slots; --`, `"; DROP TABLE slots; --`, `'); DELETE FROM reservations; --`, `1 UNION SELECT version()`, `/* */ -- #`, `\'; SELECT pg_sleep(9); --`, `$$;$1;$guard0$`, `[x]]; EXEC xp_cmdshell 'x'`, `%' ESCAPE '!`, `:name ?1 @p1`, `' || (SELECT 1) || '`, `{{.}} ${7*7} <%= 7 %>`, `<script>alert(1)</script>`,
			`","level":"ERROR","msg":"injected","x":"`, `level=ERROR msg=injected`, `%s%n%x %!d(MISSING)`, `../../../etc/passwd`, `C:\nul`, `=cmd|'/c calc'!A1`, `$(id) && |`,
		}, []string{
			"x\n{\"level\":\"ERROR\",\"msg\":\"injected\"}", "x\r\nInjected: yes", "x\x1b[2J\x1b[31mred", "x\x00' --", "x\u0085y", "x\b\b\b", "x\u009b31m",
		}
}

// injections put each payload (in the short form each third one) in each field
// of each call.
func injections(round int) []hostile {
	var all []hostile
	plain, control := payloads()
	for i, p := range append(plain, control...) {
		if i%3 != round%3 && !served.Long() {
			continue
		}
		bad := i >= len(plain)
		add := func(field, raw, fine, refused string) {
			want := fine
			if bad {
				want = refused
			}
			all = append(all, one("injection", fmt.Sprintf("%s %q", field, p), raw, want))
		}
		text, _ := json.Marshal(p)
		anew := func(what string) []byte { // a text that no other request of any round has
			b, _ := json.Marshal(fmt.Sprintf("%s/%s%d", p, what, round))
			return b
		}
		year := fmt.Sprintf(`"starts_at":"%d-01-01T00:00:00Z","ends_at":"%d-02-01T00:00:00Z"`, 2100+i+50*round, 2100+i+50*round)
		path, query := url.PathEscape(p), url.QueryEscape(p)

		for _, field := range []string{"user_id", "hold_seconds", "allow_past"} {
			body := fmt.Sprintf(`{"user_id":"whoever",%q:%s}`, field, text)
			if field == "user_id" {
				body = fmt.Sprintf(`{"user_id":%s}`, anew("one"))
			}
			add("reserve "+field, request("POST", "/slots/2/reservations", body), map[bool]string{true: "201", false: invalid}[field == "user_id"], invalid)
		}
		add("reserve all user_id", request("POST", "/reservations", fmt.Sprintf(`{"user_id":%s,"slot_ids":[2]}`, anew("all"))), "201", invalid)
		add("reserve all slot_ids", request("POST", "/reservations", fmt.Sprintf(`{"user_id":"a","slot_ids":[%s]}`, text)), invalid, invalid)
		for _, field := range []string{"starts_at", "ends_at", "capacity"} {
			add("edit "+field, request("PATCH", "/slots/2", fmt.Sprintf(`{%q:%s}`, field, text), `If-Match: "1"`), invalid, invalid)
		}
		add("slot resource", request("POST", "/slots", fmt.Sprintf(`{%s,"resource":%s}`, year, anew("slot"))), "201", invalid)
		add("slot starts_at", request("POST", "/slots", fmt.Sprintf(`{"starts_at":%s,"ends_at":"2097-01-01T10:00:00Z"}`, text)), invalid, invalid)
		add("slot capacity", request("POST", "/slots", fmt.Sprintf(`{%s,"capacity":%s}`, range0, text)), invalid, invalid)
		add("resource key", request("POST", "/resources", fmt.Sprintf(`{"key":%s,"kind":"thing"}`, anew("key"))), "201", invalid)
		add("resource name", request("POST", "/resources", fmt.Sprintf(`{"key":"named-%d-%d","name":%s,"kind":"thing"}`, i, round, text)), "201", invalid)
		add("resource kind", request("POST", "/resources", fmt.Sprintf(`{"key":"kind","kind":%s}`, text)), invalid, invalid)
		add("booking user_id", request("POST", "/resources/room/bookings", fmt.Sprintf(`{"user_id":%s,%s}`, text, year)), "201", invalid)
		add("booking ends_at", request("POST", "/resources/room/bookings", fmt.Sprintf(`{"user_id":"a","starts_at":"2097-01-01T10:00:00Z","ends_at":%s}`, text)), invalid, invalid)
		add("bookings user_id", request("POST", "/bookings", fmt.Sprintf(`{"user_id":%s,%s,"resources":[{"thing":"mri"}]}`, text, year)), "201", invalid)
		add("bookings place", request("POST", "/bookings", fmt.Sprintf(`{"user_id":"a",%s,"resources":[{"place":%s}]}`, year, text)), noKey, invalid)
		add("field's name", request("POST", "/slots/2/reservations", fmt.Sprintf(`{"user_id":"a",%s:1}`, text)), malformed, malformed)

		for _, call := range [][2]string{{"GET", ""}, {"DELETE", ""}, {"GET", "/reservations"}, {"GET", "/reservations/alice"}} {
			add(call[0]+" slot"+call[1], request(call[0], "/slots/"+path+call[1], ""), noSlot, noSlot)
		}
		add("DELETE booking", request("DELETE", "/bookings/"+path, ""), "404 booking-not-found", "404 booking-not-found")
		for _, call := range [][2]string{{"GET", ""}, {"DELETE", ""}, {"POST", "/confirm"}} {
			add(call[0]+" user"+call[1], request(call[0], "/slots/2/reservations/"+path+call[1], ""), noPlace, noPlace)
		}
		for _, call := range [][2]string{{"", ""}, {"/bookings", ""}, {"/free", "?from=2097-01-01T00:00:00Z&to=2097-01-02T00:00:00Z"}} {
			add("GET key"+call[0], request("GET", "/resources/"+path+call[0]+call[1], ""), noKey, noKey)
		}
		add("POST key", request("POST", "/resources/"+path+"/bookings", fmt.Sprintf(`{"user_id":"a",%s}`, year)), noKey, noKey)
		add("no path", request("GET", "/"+path, ""), nothing, nothing)
		add("problem", request("GET", "/problems/"+path, ""), nothing, nothing)

		for _, name := range []string{"from", "to", "available", "minutes", "limit", "cursor"} {
			add("query "+name, request("GET", "/slots?"+name+"="+query, ""), invalid, invalid)
		}
		add("query resource", request("GET", "/slots?resource="+query, ""), "200", invalid)
		add("query's name", request("GET", "/slots?"+query+"=1", ""), invalid, invalid)
		cursor := base64.RawURLEncoding.EncodeToString([]byte("k" + p))
		add("resources cursor", request("GET", "/resources?cursor="+cursor, ""), "200", invalid)
		add("slots cursor", request("GET", "/slots?cursor="+base64.RawURLEncoding.EncodeToString([]byte("s"+p)), ""), invalid, invalid)
		add("bookings minutes", request("GET", "/resources/room/free?from=2097-01-01T00:00:00Z&to=2097-01-02T00:00:00Z&minutes="+query, ""), invalid, invalid)
		if !bad { // what a header may not have is in headers
			add("If-Match", request("PATCH", "/slots/2", `{"capacity":5}`, `If-Match: "`+p+`"`), "412 version-mismatch", "")
			add("request id", request("GET", "/livez", "", "X-Request-Id: "+p), "200", "")
			add("user agent", request("GET", "/livez", "", "User-Agent: "+p, "Referer: "+p, "X-Forwarded-For: "+p), "200", "")
			add("Host", "GET /nope HTTP/1.1\r\nHost: "+p+"\r\n\r\n", nothing+"|"+malformed, "")
			add("method", request(strings.ReplaceAll(p, " ", ""), "/livez", ""), "405 method-not-allowed|"+malformed, "")
		}
	}
	return all
}
