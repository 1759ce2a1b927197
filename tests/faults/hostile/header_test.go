package hostile

import (
	"fmt"
	"strings"
)

// headers are many, long, broken, or ask for what is not had.
func headers() []hostile {
	var all []hostile
	add := func(name, want string, lines ...string) {
		all = append(all, one("headers", name, request("GET", "/slots/2", "", lines...), want))
	}
	many := func(n int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("X-%d: y", i)
		}
		return list
	}
	add("500", "200", many(500)...)
	add("2000", bigHeader, many(2_000)...)
	add("20 000", bigHeader, many(20_000)...)
	add("one long value", bigHeader, "X: "+strings.Repeat("y", 9_000))
	add("one long name", bigHeader, strings.Repeat("X", 9_000)+": y")
	add("one of 1 MiB", bigHeader, "X: "+strings.Repeat("y", 1<<20))
	add("long cookie that fits", "200", "Cookie: a="+strings.Repeat("y", 7_000))
	for name, line := range map[string]string{
		"no name": ": x", "colons": ":::", "space in the name": "X Y: z", "space before": " X: y", "tab before": "\tX: y", "space before colon": "X : y", "folded": "X: y\r\n z", "NUL in the name": "X\x00: y",
		"parentheses": "X(y): z", "slash": "X/y: z", "Unicode in the name": "Xé: y", "escape in the name": "\x1b[2J: y", "NUL": "X: a\x00b", "escape": "X: \x1b[31m", "bell": "X: \a", "DEL": "X: \x7f", "return": "X: a\rb", "return first": "\rX: y", "vertical tab": "X: a\vb",
	} {
		add(name, malformed, line)
	}
	add("no colon", malformed+"|"+late, "broken") // fasthttp waits for one
	for name, line := range map[string]string{
		"Latin-1": "X: \xe9", "broken UTF-8": "X: \xff\xfe", "empty": "X:", "tab": "X:\ty\t", "colons in the value": "X: a:b:c", "method override": "X-HTTP-Method-Override: DELETE", "rewrite": "X-Original-URL: /admin", "forwarded": "X-Forwarded-Host: evil\r\nX-Forwarded-For: 127.0.0.1",
		"ranges": "Range: bytes=0-0,0-0,0-0", "odd ranges": "Range: bytes=-99999999999999999999", "not modified": `If-None-Match: "1"`, "since": "If-Modified-Since: Thu, 99 Foo 9999 99:99:99 GMT", "expects more": "Expect: 200-ok", "accepts nothing": "Accept: x/y;q=-1", "encodings": "Accept-Encoding: gzip;q=1.0, *;q=0, br, deflate",
		"authorization": "Authorization: Basic \xff", "origin": "Origin: null", "shell": "User-Agent: () { :;}; echo x", "broken cookie": "Cookie: =;;=;a=\"", "hops": "Max-Forwards: -1", "TE": "TE: trailers, deflate;q=9", "trailer": "Trailer: X-Y",
	} {
		add(name, "200", line)
	}
	for _, id := range []string{"a b", "", "é", "\xff", `a"b`, "a,b", "a;b", "a/b", "a%0d%0aInjected:%20yes", "a\\nb", "<b>", "{}", strings.Repeat("x", 65), strings.Repeat("x", 7_000), "' OR 1=1 --", `","level":"ERROR","x":"`} {
		add("request id "+fmt.Sprintf("%.20s %d", id, len(id)), "200", "X-Request-Id: "+id)
	}
	add("request id of two lines", "200", "X-Request-Id: a\r\nInjected: yes")
	add("two request ids", "200", "X-Request-Id: a", "X-Request-Id: b")
	for _, tag := range []string{``, `1`, `"0"`, `"-1"`, `"+1"`, `"01"`, `"1.0"`, `"1`, `1"`, `W/"1"`, `w/"1"`, `"1'--"`, `"*"`, `**`, `"9223372036854775808"`, `"18446744073709551617"`, `"` + strings.Repeat("1", 7_000) + `"`, strings.Repeat(`"2",`, 1_500), `"é"`, "\"\xff\"", `"1"x`, `"１"`, `"%31"`} {
		for _, call := range [][2]string{{"PATCH", `{"capacity":5}`}, {"DELETE", ""}} {
			all = append(all, one("if-match", call[0]+fmt.Sprintf("%.30s %d", tag, len(tag)), request(call[0], "/slots/2", call[1], "If-Match: "+tag), "412 version-mismatch"))
		}
	}
	all = append(all, one("if-match", "none", request("PATCH", "/slots/2", `{"capacity":5}`), "428 version-required"))
	for _, media := range []string{"text/plain", "application/xml", "application/json; charset=utf-16", "application/json; charset=", "application/json;;", "application/json, application/json", "application/jsonx", "*/*", "json", "application/json\x80", "multipart/form-data; boundary=x", "application/json; boundary=" + strings.Repeat("x", 5_000)} {
		raw := "POST /slots/2/reservations HTTP/1.1\r\nHost: {host}\r\nContent-Type: " + media + "\r\nContent-Length: 15\r\n\r\n" + `{"user_id":"m"}`
		want := "415 unsupported-media-type"
		if media == "application/json;;" {
			want += "|201|409 already-reserved"
		}
		all = append(all, one("media", fmt.Sprintf("%.40s", media), raw, want))
	}
	return all
}
