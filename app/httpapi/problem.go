package httpapi

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"
)

const problemType = "application/problem+json"

// fail answers with the problem that err stands for (RFC 9457) and returns the
// code, "" where nobody is left to answer.
func (s *Server) fail(c *fiber.Ctx, err error, manyAt string) string {
	f := explain(err, manyAt)
	if f.status >= 500 && clientGone(c.Context().Conn()) {
		// The client left, so the request was given up. Nobody reads this; the
		// log and the metrics should not take it for a failure of the service.
		c.Status(statusClientGone)
		return ""
	}
	resp := c.Response()
	resp.SetStatusCode(f.status)
	resp.Header.SetContentType(problemType)
	if f.retryAfter != "" {
		resp.Header.Set(fiber.HeaderRetryAfter, f.retryAfter)
	}
	b := resp.SwapBody(nil)[:0]
	b = append(b, `{"type":`...)
	b = appendText(b, s.base(c)+"/problems/"+f.code)
	b = append(b, `,"title":`...)
	b = appendText(b, f.title)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(f.status), 10)
	b = append(b, `,"detail":`...)
	b = appendText(b, f.detail)
	b = append(b, `,"instance":`...)
	b = appendText(b, string(c.Context().URI().PathOriginal()))
	b = append(b, `,"code":`...)
	b = appendText(b, f.code)
	if f.reserved >= 0 {
		b = append(b, `,"reserved":`...)
		b = strconv.AppendInt(b, int64(f.reserved), 10)
	}
	b = appendEntries(b, f.entries)
	resp.SwapBody(append(b, '}'))
	return f.code
}

// statusClientGone is what logs and metrics show of a request whose client
// left before the answer; the number is a custom of other servers.
const statusClientGone = 499

func appendEntries(b []byte, entries []entry) []byte {
	for i, e := range entries {
		if i == 0 {
			b = append(b, `,"errors":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(b, `{"detail":`...)
		b = appendText(b, e.detail)
		b = appendMember(b, "pointer", e.pointer)
		b = appendMember(b, "parameter", e.parameter)
		b = appendMember(b, "code", e.code)
		b = append(b, '}')
	}
	if len(entries) > 0 {
		b = append(b, ']')
	}
	return b
}

// appendMember appends an optional text member.
func appendMember(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":`...)
	return appendText(b, value)
}

// appendText appends a JSON string. Broken UTF-8, which a path may have, is
// replaced; the error says no more than that.
func appendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// base is the absolute URL that the service is reached by: as configured, or
// as this client reached it.
func (s *Server) base(c *fiber.Ctx) string {
	if s.publicURL != "" {
		return s.publicURL
	}
	host := c.Request().Header.Host()
	if len(host) == 0 || bytes.ContainsFunc(host, notOfHost) {
		return "http://" + c.Context().LocalAddr().String()
	}
	return "http://" + string(host)
}

func notOfHost(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return r != '.' && r != '-' && r != ':' && r != '[' && r != ']' && r != '_'
}

//go:embed problem.html
var problemHTML string

// problemPages renders the page of each problem, by code.
func problemPages() map[string][]byte {
	page := template.Must(template.New("problem").Parse(problemHTML))
	pages := make(map[string][]byte, len(problems))
	for i := range problems {
		p := &problems[i]
		var b bytes.Buffer
		err := page.Execute(&b, map[string]any{
			"Code": p.code, "Title": p.title, "Status": p.status, "Phrase": http.StatusText(p.status),
			"Detail": p.detail, "About": p.about, "Retry": p.retryAfter,
		})
		if err != nil {
			panic(err) // the template and its values are constant
		}
		pages[p.code] = b.Bytes()
	}
	return pages
}

// problemPage is GET /problems/{code}.
func (s *Server) problemPage(c *fiber.Ctx) error {
	page, ok := s.pages[c.Params("code")]
	if !ok {
		return refuse("not-found", "")
	}
	return html(c, page)
}
