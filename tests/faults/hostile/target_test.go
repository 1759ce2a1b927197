package hostile

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// lines are odd request lines, methods, versions and hosts, and what is no HTTP.
func lines() []hostile {
	var all []hostile
	add := func(name, raw, want string, last bool) {
		all = append(all, hostile{"lines", name, raw, []string{want}, last})
	}
	rest := "\r\nHost: {host}\r\n\r\n"
	for name, line := range map[string]string{
		"words": "hello", "no target": "GET", "empty target": "GET  HTTP/1.1", "space in the target": "GET /slots /1 HTTP/1.1", "tab in the target": "GET /slots\t/1 HTTP/1.1", "two spaces": "GET  /livez HTTP/1.1",
		"space behind": "GET /livez HTTP/1.1 ", "HTTP/1.2": "GET /livez HTTP/1.2", "HTTP/2.0": "GET /livez HTTP/2.0", "HTTP/0.9": "GET /livez HTTP/0.9", "HTTP/11": "GET /livez HTTP/11", "small letters": "GET /livez http/1.1", "no version": "GET /livez HTTP/",
		"control": "GET /li\x01vez HTTP/1.1", "DEL": "GET /livez\x7f HTTP/1.1", "NUL": "GET /livez\x00 HTTP/1.1", "escape": "GET /\x1b[2J HTTP/1.1", "bare return": "GET /livez\rX HTTP/1.1", "SOCKS": "\x05\x01\x00", "redis": "*1\r\n$4\r\nPING", "SSH": "SSH-2.0-x", "log4j": "${jndi:ldap://127.0.0.1/a}",
	} {
		add(name, line+rest, malformed, true)
	}
	for name, raw := range map[string]string{
		"HTTP/2 preface": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "no Host": "GET /livez HTTP/1.1\r\n\r\n", "two Hosts": "GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"no slash": "GET livez HTTP/1.1" + rest, "star": "GET * HTTP/1.1" + rest, "authority": "CONNECT 127.0.0.1:22 HTTP/1.1" + rest, "query alone": "GET ?x=1 HTTP/1.1" + rest,
		"broken Host": "GET /livez HTTP/1.1\r\nHost: [::1\r\n\r\n", "two ports": "GET /livez HTTP/1.1\r\nHost: a:b:c\r\n\r\n", "escape in Host": "GET /livez HTTP/1.1\r\nHost: a%zz\r\n\r\n",
	} {
		add(name, raw, malformed, false)
	}
	for _, method := range []string{"BREW", "get", "TRACE", "PUT", "PROPFIND", "DROP", "M-SEARCH", strings.Repeat("A", 4_000)} {
		add("method "+method[:min(8, len(method))], request(method, "/slots/1", "", "Connection: close"), "405 method-not-allowed", true)
	}
	for _, method := range []string{"GET;", "POST/slots", "\xff\xfe", "G\x00T", "\x1b[2J", "(GET)", "G:T"} {
		add(fmt.Sprintf("method %q", method), request(method, "/livez", ""), malformed, true)
	}
	add("TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"+strings.Repeat("\xaa", 500), late+"|"+malformed, true)
	add("half a line", "GET /live", late, true)
	add("no end of headers", "GET /livez HTTP/1.1\r\nHost: {host}\r\n", late, true)
	add("without version", "GET /livez\r\n\r\n", "200", true)
	add("HTTP/1.0", "GET /livez HTTP/1.0\r\n\r\n", "200", true)
	add("empty lines before", "\r\n\r\n\n"+request("GET", "/livez", ""), "200", false)
	add("bare newlines", "GET /livez HTTP/1.1\nHost: {host}\n\n", "200", false)
	add("star of OPTIONS", request("OPTIONS", "*", ""), "204", false)
	for _, absolute := range []string{"http://{host}/livez", "http://other.example/livez", "https://user:pass@other.example:1/livez", "HTTP://x/livez"} {
		add("absolute "+absolute, request("GET", absolute, ""), "200", false)
	}
	for _, absolute := range []string{"http://", "http:///livez", "http://[::1/livez", "file:///etc/passwd", "javascript:alert(1)", "//[x/livez"} {
		add("absolute "+absolute, request("GET", absolute, ""), malformed+"|"+nothing+"|302|200", false)
	}
	return all
}

// targets are paths that are none of the service's, or name nothing.
func targets() []hostile {
	var all []hostile
	for _, path := range []string{"/..", "/../", "/../../../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd", `/..\..\windows\win.ini`, "/.%00./etc", "//slots", "/slots/", "/slots//reservations", "/./slots", "/slots/../slots", "/slots/%2e%2e/slots",
		"/Slots", "/SLOTS/1", "/docs/", "/docs/../slots", "/livez/", "/livez%20", "/livez%00", "/livez;x=1", "/livez.json", "/%6civez", "/%zz", "/%", "/%%", "/%2", "/\xff\xfe", "/%FF%FE", "/metrics/../livez", "/openapi.json%00.html", "/problems/..%2fbusy", "/problems/busy%00", "/problems/",
		"/.git/config", "/.env", "/admin", "/cgi-bin/;id", "/slots/1/reservations/a/b", "/slots/1/reservations/a/confirm/", "/slots/1/reservations//confirm", "/resources/room/free/..", "/${jndi:ldap:x}", "/{{7*7}}", "/<script>alert(1)</script>", "/" + strings.Repeat("a/", 3_000), "/" + strings.Repeat("../", 2_000)} {
		all = append(all, one("paths", fmt.Sprintf("%.40s", path), request("GET", path, ""), nothing))
	}
	for _, path := range []string{"..", ".", "%2e%2e", "1%00", "1%2freservations", "1;x=1", "1%0a", "\uff11", "1'--", "%", "%zz", "1\xff", strings.Repeat("9", 7_000)} {
		all = append(all, one("paths", "slot "+fmt.Sprintf("%.40s", path), request("GET", "/slots/"+path, ""), noSlot))
	}
	for _, c := range [][2]string{{"%FF", noKey}, {"%c0%af", noKey}, {"%00", noKey}, {"room%00", noKey}, {"room%20", noKey}, {"ROOM", noKey}, {"..", noKey}, {"%2e%2e%2f%2e%2e", noKey}, {"%zz", malformed}, {"%", malformed}, {"%2", malformed}, {"room%", malformed}, {"%u0061", malformed},
		{"%252e", noKey}, {"%0d%0aInjected:%20yes", noKey}, {"\xff", noKey}, {strings.Repeat("x", 7_000), noKey}, {strings.Repeat("%41", 2_000), noKey}, {"%72oom", "200"}} {
		all = append(all, one("paths", "key "+fmt.Sprintf("%.40s", c[0]), request("GET", "/resources/"+c[0], ""), c[1]))
		want := map[string]string{noKey: noPlace, "200": noPlace}[c[1]]
		if want == "" {
			want = c[1]
		}
		all = append(all, one("paths", "user "+fmt.Sprintf("%.40s", c[0]), request("DELETE", "/slots/2/reservations/"+c[0], ""), want))
	}
	return append(all, one("paths", "over the limit", request("GET", "/"+strings.Repeat("x", 9_000), ""), bigHeader),
		one("paths", "fragment", request("GET", "/livez#/../x", ""), "200"))
}

// queries are unknown, doubled or odd parameters and cursors.
func queries() []hostile {
	var all []hostile
	cursor := func(b string) string { return base64.RawURLEncoding.EncodeToString([]byte(b)) }
	for _, q := range []string{"x=1", "limit=5&limit=5", "Limit=5", "limit[]=5", "limit", "%6cimit=x", "%zz=1", "resource=%zz", "resource=%", "resource=%00", "resource=%FF", "resource=", "resource=" + strings.Repeat("x", 129), "resource=a%0ab", "resource=%1b[2J", "available=1", "available=TRUE", "available=",
		"cursor=", "cursor=abc", "cursor=%00", "cursor=%F0%9F%98%80", "cursor=" + strings.Repeat("A", 5_000), "cursor=" + cursor("s"), "cursor=" + cursor("s"+strings.Repeat("\x00", 16)), "cursor=" + cursor("s"+strings.Repeat("\xff", 16)), "cursor=" + cursor("s\x7f"+strings.Repeat("\xff", 7)+"\x00\x00\x00\x00\x00\x00\x00\x01"),
		"cursor=" + cursor("r\x00\x00\x00\x00\x00\x00\x00\x01"), "cursor=" + cursor("s' OR 1=1 --    x"), "a=b;c=d", "from=2097-01-02T00:00:00Z&to=2097-01-01T00:00:00Z", strings.Repeat("x&", 3_000), strings.Repeat("limit=1&", 900), "id=1%20OR%201=1", "__proto__[x]=1", "=", "=1", "&&x&&"} {
		all = append(all, one("queries", fmt.Sprintf("slots?%.30s %d", q, len(q)), request("GET", "/slots?"+q, ""), invalid))
	}
	for _, q := range []string{"cursor=" + cursor("ka\x00"), "cursor=" + cursor("k\xff"), "cursor=" + cursor("k\x1b[2J"), "cursor=" + cursor("k"), "from=2097-01-01T00:00:00Z"} {
		all = append(all, one("queries", "resources?"+q, request("GET", "/resources?"+q, ""), invalid))
	}
	for _, q := range []string{"", "&&&", "limit=1&", "resource=%27%20OR%201=1--", "resource=%f0%9f%98%80", "cursor=" + cursor("s\x00\x05\x00\x00\x00\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff")} {
		all = append(all, one("queries", "fine "+q, request("GET", "/slots?"+q, ""), "200"))
	}
	for _, c := range [][2]string{{"POST", "/slots"}, {"GET", "/slots/2"}, {"DELETE", "/slots/2"}, {"POST", "/reservations"}, {"GET", "/slots/2/reservations/alice"}, {"POST", "/bookings"}} {
		all = append(all, one("queries", c[0]+c[1]+"?", request(c[0], c[1]+"?dry_run=%0atrue", ""), invalid))
	}
	return append(all, one("queries", "probe", request("GET", "/livez?%00=%zz&x", ""), "200"))
}
