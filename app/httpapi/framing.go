package httpapi

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp"
)

// fasthttp reads requests more loosely than RFC 9112 allows: of two lengths it
// takes the last, any transfer coding is chunked to it, and beside one it
// forgets the length. A proxy before it may read the same bytes as another
// number of requests, and then one client's bytes become another's request
// (request smuggling). So what could be read in two ways is not answered but
// refused, and its connection is closed, whatever else stands in it.

// framing is what a request's headers say about where it ends, and for whom it is.
type framing struct {
	hosts, lengths, codings int
	chunked                 bool // the coding is chunked and nothing else
	last                    bool // Connection names close, however it is spelled
}

// misread says what in a request's line and headers may be read in two ways;
// "" is nothing.
func misread(h *fasthttp.RequestHeader) (string, framing) {
	if bytes.ContainsFunc(h.Method(), notOfToken) {
		return "The request's method has a character that no method has.", framing{}
	}
	if bytes.ContainsFunc(h.RequestURI(), func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "The request's target has a space or a control character.", framing{}
	}
	if proto := string(h.Protocol()); proto != "HTTP/1.1" && proto != "HTTP/1.0" {
		return "The request's version is neither HTTP/1.1 nor HTTP/1.0.", framing{}
	}
	f, ok := readFraming(h.RawHeaders())
	switch {
	case !ok:
		return "A header's name has a character that no name has, or its value a control character or a second line.", f
	case f.hosts > 1 || f.hosts == 0 && h.IsHTTP11():
		return "The request must have one Host.", f
	case f.lengths > 1:
		return "The request has more than one Content-Length.", f
	case f.codings > 0 && f.lengths > 0:
		return "The request has a Transfer-Encoding and a Content-Length.", f
	case f.codings > 1 || f.codings > 0 && (!f.chunked || !h.IsHTTP11()):
		return "The one Transfer-Encoding that is taken is chunked, in HTTP/1.1.", f
	}
	return "", f
}

// readFraming goes through the headers as they came; false is a line that is
// no header, or is one only to some.
func readFraming(raw []byte) (f framing, ok bool) {
	for len(raw) > 0 {
		line, rest, _ := bytes.Cut(raw, []byte("\n"))
		raw = rest
		if line = bytes.TrimSuffix(line, []byte("\r")); len(line) == 0 {
			return f, true
		}
		colon := bytes.IndexByte(line, ':')
		if colon < 1 || bytes.ContainsFunc(line[:colon], notOfToken) {
			return f, false
		}
		value := line[colon+1:]
		for _, b := range value {
			if b < ' ' && b != '\t' || b == 0x7f {
				return f, false
			}
		}
		f.heed(line[:colon], value)
	}
	return f, true
}

func (f *framing) heed(name, value []byte) {
	switch {
	case is(name, "Host"):
		f.hosts++
	case is(name, "Content-Length"):
		f.lengths++
	case is(name, "Transfer-Encoding"):
		f.codings++
		f.chunked = is(bytes.Trim(value, " \t"), "chunked")
	case is(name, "Connection"):
		for option := range bytes.SplitSeq(value, []byte(",")) {
			f.last = f.last || is(bytes.Trim(option, " \t"), "close")
		}
	}
}

// is compares without regard to case, in ASCII: EqualFold alone also takes the
// Kelvin sign for a k.
func is(b []byte, name string) bool {
	return len(b) == len(name) && strings.EqualFold(string(b), name)
}

// notOfToken says what a method and a header's name must not have (RFC 9110, 5.6.2).
func notOfToken(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return r > 0x7f || !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}
