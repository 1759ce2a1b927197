package hostile

import (
	"fmt"
	"strings"
)

// reserving is a reserve's head up to the header that says how long the body is.
const reserving = "POST /slots/2/reservations HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"

// lengths are wrong, missing, doubled or none.
func lengths(round int) []hostile {
	body := fmt.Sprintf(`{"user_id":"length-%d"}`, round)
	var all []hostile
	for name, length := range map[string]string{
		"negative": "-1", "minus zero": "-0", "plus": "+21", "hex": "0x15", "exponent": "2e1", "fraction": "21.0", "empty": "", "words": "many", "list": "21, 21", "list of others": "21,5",
		"space inside": "2 1", "NUL": "21\x00", "full width": "２１", "two dots": "21:21",
	} {
		all = append(all, one("length", name, reserving+"Content-Length: "+length+"\r\n\r\n"+body, malformed))
	}
	for name, length := range map[string]string{
		"int32": "2147483648", "int64": "9223372036854775807", "int64 and one": "9223372036854775808", "uint64": "18446744073709551616", "uint64 and the right one": "18446744073709551637",
		"overflows twice": "22000000000000000021", "forty digits": strings.Repeat("9", 40), "one over": "65537",
	} {
		all = append(all, hostile{"length", name, reserving + "Content-Length: " + length + "\r\n\r\n" + body, []string{large + "|" + malformed}, true})
	}
	return append(all,
		hostile{"length", "too short", reserving + "Content-Length: 5\r\n\r\n" + body + "\r\n\r\n", []string{malformed, malformed}, true},
		hostile{"length", "too long", reserving + "Content-Length: 100\r\n\r\n" + body, []string{late}, true},
		hostile{"length", "missing", reserving + "\r\n" + body + "\r\n\r\n", []string{malformed, malformed}, true},
		hostile{"length", "no body follows", reserving + "Content-Length: 21\r\n\r\n", []string{late}, true},
		hostile{"length", "zero", reserving + "Content-Length: 0\r\nConnection: close\r\n\r\n", []string{malformed}, true},
		hostile{"length", "twice the same", reserving + "Content-Length: 20\r\nContent-Length: 20\r\n\r\n" + body, []string{malformed}, true},
		hostile{"length", "twice, shorter last", reserving + "Content-Length: 90\r\nContent-Length: 5\r\n\r\n" + body, []string{malformed}, true},
		one("length", "leading zeros", fmt.Sprintf("%sContent-Length: %09d\r\n\r\n%s", reserving, len(body), body), "201"),
	)
}

const chunking = reserving + "Transfer-Encoding: chunked\r\n"

// chunks are odd or broken. Where the server reads one as others may not, it
// still answers nothing behind it.
func chunks(round int) []hostile {
	var all []hostile
	for name, body := range map[string]string{
		"no hex": "zz\r\n{}\r\n0\r\n\r\n", "negative": "-2\r\n{}\r\n0\r\n\r\n", "empty size": "\r\n{}\r\n0\r\n\r\n", "0x": "0x2\r\n{}\r\n0\r\n\r\n", "sixteen digits": "fffffffffffffffe\r\n{}\r\n0\r\n\r\n",
		"many zeros": strings.Repeat("0", 40) + "2\r\n{}\r\n0\r\n\r\n", "size too small": "1\r\n{}\r\n0\r\n\r\n", "no line end behind": "2\r\n{}0\r\n\r\n", "bare newlines": "2\n{}\n0\n\n", "space before size": " 2\r\n{}\r\n0\r\n\r\n",
		"trailer that frames": "2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n", "trailer that is no header": "2\r\n{}\r\n0\r\nbroken\r\n\r\n", "empty body": "0\r\n\r\n",
	} {
		all = append(all, hostile{"chunks", name, chunking + "\r\n" + body + "GET /livez HTTP/1.1\r\nHost: {host}\r\n\r\n", []string{malformed}, true})
	}
	good := func(name string) (string, string) {
		body := fmt.Sprintf(`{"user_id":"%s %d"}`, name, round)
		return fmt.Sprintf("%x", len(body)), body
	}
	size, body := good("chunk extension")
	all = append(all, hostile{"chunks", "extension", chunking + "\r\n" + size + `;a="b;c";d` + "\r\n" + body + "\r\n0;e\r\n\r\n", []string{"201"}, true})
	size, body = good("chunk extension of lines")
	all = append(all, hostile{"chunks", "extension with a newline", chunking + "\r\n" + size + ";a\nb\r\n" + body + "\r\n0\r\n\r\nGET /livez HTTP/1.1\r\nHost: {host}\r\n\r\n", []string{"201"}, true})
	size, body = good("long chunk extension")
	all = append(all, hostile{"chunks", "long extension", chunking + "\r\n" + size + ";" + strings.Repeat("x", 200_000) + "\r\n" + body + "\r\n0\r\n\r\n", []string{"201"}, true})
	size, body = good("chunk trailer")
	all = append(all, hostile{"chunks", "trailers", chunking + "Trailer: X-Sum\r\n\r\n" + size + "\r\n" + body + "\r\n0\r\nX-Sum: 7\r\nInjected: yes\r\n\r\n", []string{"201"}, true})
	_, body = good("one byte each")
	all = append(all, hostile{"chunks", "one byte each", chunking + "\r\n" + ones(body) + "0\r\n\r\n", []string{"201"}, true},
		hostile{"chunks", "20 000 of one byte", chunking + "\r\n" + ones(strings.Repeat(" ", 20_000)) + "0\r\n\r\n", []string{malformed}, true},
		hostile{"chunks", "more than a body may", chunking + "\r\n" + strings.Repeat("4000\r\n"+strings.Repeat(" ", 0x4000)+"\r\n", 5) + "0\r\n\r\n", []string{large}, true},
		hostile{"chunks", "huge size", chunking + "\r\nfffffffffffffff\r\n{}\r\n0\r\n\r\n", []string{large}, true},
		hostile{"chunks", "huge size behind a small one", chunking + "\r\n1\r\n{\r\nfffffffffffffff\r\n}\r\n0\r\n\r\n", []string{large}, true},
		hostile{"chunks", "trailers without end", chunking + "\r\n0\r\n" + strings.Repeat("X-A: b\r\n", 2_000), []string{bigHeader + "|" + malformed}, true},
		hostile{"chunks", "no last one", chunking + "\r\n2\r\n{}\r\n", []string{late}, true},
		hostile{"chunks", "no size", chunking + "\r\n", []string{late}, true},
		hostile{"chunks", "no end of trailers", chunking + "\r\n2\r\n{}\r\n0\r\nX: y\r\n", []string{late}, true})
	return all
}

func ones(body string) string {
	var b strings.Builder
	for _, c := range []byte(body) {
		fmt.Fprintf(&b, "1\r\n%c\r\n", c)
	}
	return b.String()
}

// smuggled requests stand where one reader finds a body and another the next
// request. Each would delete the canary's reservation.
func smuggled(round int) []hostile {
	const hidden = "DELETE /slots/1/reservations/alice HTTP/1.1\r\nHost: x\r\n\r\n"
	const reservation = "16\r\n{\"user_id\":\"smuggler\"}\r\n0\r\n\r\n" // to whom reads it so
	var all []hostile
	for name, head := range map[string]string{
		"length and chunked":      "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
		"chunked and length":      "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n",
		"length and another case": "Content-Length: 6\r\ntransfer-ENCODING: Chunked\r\n",
		"unknown coding":          "Transfer-Encoding: xchunked\r\nContent-Length: 6\r\n",
		"unknown coding alone":    "Transfer-Encoding: cow\r\n",
		"identity":                "Transfer-Encoding: identity\r\nContent-Length: 6\r\n",
		"two codings":             "Transfer-Encoding: gzip, chunked\r\n",
		"chunked twice":           "Transfer-Encoding: chunked, chunked\r\n",
		"two lines":               "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
		"two lines, swapped":      "Transfer-Encoding: cow\r\nTransfer-Encoding: chunked\r\n",
		"empty coding":            "Transfer-Encoding:\r\n",
		"quoted":                  "Transfer-Encoding: \"chunked\"\r\n",
		"space before the colon":  "Transfer-Encoding : chunked\r\nContent-Length: 6\r\n",
		"tab before the colon":    "Transfer-Encoding\t: chunked\r\nContent-Length: 6\r\n",
		"space before the name":   " Transfer-Encoding: chunked\r\nContent-Length: 6\r\n",
		"vertical tab":            "Transfer-Encoding: \x0bchunked\r\nContent-Length: 6\r\n",
		"NUL":                     "Transfer-Encoding: chunked\x00\r\nContent-Length: 6\r\n",
		"folded":                  "Transfer-Encoding:\r\n chunked\r\nContent-Length: 6\r\n",
		"folded with a colon":     "X: y\r\n Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
		"bare return":             "X: y\rTransfer-Encoding: chunked\r\nContent-Length: 6\r\n",
		"bare newline":            "X: y\nTransfer-Encoding: chunked\r\nContent-Length: 6\r\n",
		"underscore":              "Transfer_Encoding: chunked\r\nContent-Length: 6\r\nContent-Length: 6\r\n",
		"kelvin sign":             "Transfer-Encoding: chun\u212aed\r\nContent-Length: 6\r\n",
		"two lengths":             "Content-Length: 6\r\nContent-Length: 40\r\n",
		"two lengths, swapped":    "Content-Length: 40\r\nContent-Length: 6\r\n",
		"two lengths, one odd":    "Content-Length: 6\r\nContent-length: +6\r\n",
	} {
		all = append(all, hostile{"smuggling", name, reserving + head + "\r\n" + reservation + "X" + hidden, []string{malformed}, true})
	}
	all = append(all,
		hostile{"smuggling", "chunked in HTTP/1.0", "POST /slots/2/reservations HTTP/1.0\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, []string{malformed}, true},
		hostile{"smuggling", "chunked GET", "GET /livez HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, []string{"200"}, true},
		hostile{"smuggling", "behind a trailer", "GET /livez HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n0\r\n\r\n" + hidden, []string{"200|" + malformed}, true},
		hostile{"smuggling", "in a GET's body", request("GET", "/livez", hidden, "Connection: close"), []string{"200"}, true},
		hostile{"smuggling", "behind close", "GET /livez HTTP/1.1\r\nHost: {host}\r\nConnection: CLOSE\r\n\r\n" + hidden, []string{"200"}, true},
		hostile{"smuggling", "behind keep-alive and close", "GET /livez HTTP/1.1\r\nHost: {host}\r\nConnection: keep-alive, Close\r\n\r\n" + hidden, []string{"200"}, true},
		hostile{"smuggling", "upgrade", "GET /livez HTTP/1.1\r\nHost: {host}\r\nUpgrade: h2c\r\nHTTP2-Settings: AAAA\r\nConnection: Upgrade, HTTP2-Settings, close\r\n\r\n" + hidden, []string{"200"}, true},
		hostile{"smuggling", "behind a refusal", "GET /livez HTTP/1.1\r\nHost: {host}\r\nHost: other\r\n\r\n" + hidden, []string{malformed}, true},
		hostile{"smuggling", "in the target", request("GET", "/livez%20HTTP/1.1%0d%0aHost:%20x%0d%0a%0d%0aDELETE%20/slots/1", "", "Connection: close"), []string{nothing}, true})
	piped := strings.Repeat("GET /livez HTTP/1.1\r\nHost: {host}\r\n\r\n", 49)
	want := strings.Split(strings.Repeat("200 ", 49)+"200", " ")
	return append(all, hostile{"pipelining", "50 at once", piped + request("GET", "/livez", "", "Connection: close"), want, true},
		hostile{"pipelining", "a broken one last", request("POST", "/slots/2/reservations", fmt.Sprintf(`{"user_id":"piped-%d"}`, round)) + request("GET", "/nope", "") + "what?\r\n\r\n" + hidden, []string{"201", nothing, malformed}, true})
}
