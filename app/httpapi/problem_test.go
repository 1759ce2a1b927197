package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"slotkeeper/app"

	"github.com/stretchr/testify/require"
)

// Each error of package app has its status, however deep it is wrapped.
// Seen red with: a row taken out (500).
func TestEveryErrorHasItsAnswer(t *testing.T) {
	b := start(t)
	for err, want := range map[error]struct {
		status int
		code   string
		retry  bool
	}{
		app.ErrAlreadyReserved:                       {409, "already-reserved", false},
		app.ErrSlotFull:                              {409, "slot-full", false},
		app.ErrSlotStarted:                           {409, "slot-started", false},
		app.ErrSlotOverlap:                           {409, "slot-overlap", false},
		app.ErrResourceBusy:                          {409, "resource-busy", false},
		app.ErrHoldExpired:                           {409, "hold-expired", false},
		app.ErrSlotHasReservations:                   {409, "slot-has-reservations", false},
		app.ErrResourceExists:                        {409, "resource-exists", false},
		app.ErrVersionMismatch:                       {412, "version-mismatch", false},
		app.ErrSlotNotFound:                          {404, "slot-not-found", false},
		app.ErrReservationNotFound:                   {404, "reservation-not-found", false},
		app.ErrResourceNotFound:                      {404, "resource-not-found", false},
		app.ErrBookingNotFound:                       {404, "booking-not-found", false},
		app.ErrUnavailable:                           {503, "database-unavailable", true},
		app.ErrBusy:                                  {503, "busy", true},
		app.ErrUnsupported:                           {422, "not-supported", false},
		app.ErrTransient:                             {503, "busy", true}, // the Service gives up
		app.ErrOutcomeUnknown:                        {503, "database-unavailable", true},
		&app.CapacityBelowReservedError{Reserved: 2}: {409, "capacity-below-reserved", false},
		context.DeadlineExceeded:                     {503, "busy", true},
		context.Canceled:                             {500, "internal", false}, // and the client is there
		errNoStore:                                   {500, "internal", false},
		&app.ValidationError{}:                       {422, "validation-failed", false},
		errors.Join(app.ErrUnavailable, app.ErrBusy): {503, "database-unavailable", true},
	} {
		b.store.fail = fmt.Errorf("pq: near SELECT: %w", err)
		a := b.raw("POST", b.request("POST", "/slots", `{`+future+`}`))
		b.problem(a, want.status, want.code)
		require.NotContains(t, a.body, "SELECT")
		require.Equal(t, want.retry, a.Header.Get("Retry-After") != "", want.code)
		b.store.fail = err
		b.problem(b.raw("POST", b.request("POST", "/slots", `{`+future+`}`)), want.status, want.code)
	}
}

// What is not known is a 500 without detail, and the log has its cause.
func TestInternalErrorIsLoggedNotTold(t *testing.T) {
	b := start(t)
	b.store.fail = errNoStore
	a := b.do("GET", "/slots/1", "", "X-Request-Id: find-me")
	p := b.problem(a, 500, "internal")
	require.NotContains(t, a.body, "SQL")
	require.NotContains(t, fmt.Sprint(p), "disk")
	require.Contains(t, b.log.String(), `"level":"WARN"`)
	require.Contains(t, b.log.String(), errNoStore.Error())
	require.Contains(t, b.log.String(), `"request_id":"find-me"`)
}

// Seen red with: recover left out (the process ended).
func TestPanicIsAnInternalError(t *testing.T) {
	b := start(t)
	b.store.block = func(context.Context) {
		b.store.mu.Lock() // which the fake's method unlocks on its way out
		panic("boom in the store")
	}
	a := b.do("GET", "/slots/1", "")
	b.problem(a, 500, "internal")
	require.NotContains(t, a.body, "boom")
	require.Contains(t, b.log.String(), "boom in the store")
	require.Contains(t, b.log.String(), "fake_test.go", "the stack")
	b.store.block = nil
	b.problem(b.do("GET", "/slots/1", ""), 404, "slot-not-found")
}

func TestProblemPages(t *testing.T) {
	b := start(t)
	seen := map[string]bool{}
	for _, p := range problems {
		require.False(t, seen[p.code], "%s is there twice", p.code)
		seen[p.code] = true
		require.NotEmpty(t, p.about, p.code)
		require.NotEmpty(t, http.StatusText(p.status), p.code)
		a := b.do("GET", "/problems/"+p.code, "")
		require.Equal(t, 200, a.StatusCode)
		require.Contains(t, a.Header.Get("Content-Type"), "text/html")
		require.Contains(t, a.body, "<code>"+p.code+"</code>")
		require.NotContains(t, a.body, "http", "nothing is loaded from elsewhere")
	}
	b.problem(b.do("GET", "/problems/none", ""), 404, "not-found")
	b.problem(b.do("GET", "/problems/", ""), 404, "not-found")
	// type leads to the page.
	p := b.problem(b.do("GET", "/slots/1", ""), 404, "slot-not-found")
	page := strings.TrimPrefix(p["type"].(string), "http://"+b.addr)
	require.Equal(t, 200, b.do("GET", page, "").StatusCode)
}

func TestPublicURL(t *testing.T) {
	b := start(t, func(o *Options) { o.PublicURL = "https://clinic.example/booking/" })
	a := b.do("POST", "/slots", `{`+future+`}`)
	require.Equal(t, "/booking/slots/1", a.Header.Get("Location"))
	p := b.problem(b.do("GET", "/slots/7", ""), 404, "slot-not-found")
	require.Equal(t, "https://clinic.example/booking/problems/slot-not-found", p["type"])
	require.Equal(t, "/booking/docs", b.do("GET", "/", "").Header.Get("Location"))
	require.Contains(t, b.do("GET", "/openapi.json", "").body, `"https://clinic.example/booking"`)
	b.slotOf(1)
	require.Contains(t, b.do("GET", "/slots?limit=1", "").Header.Get("Link"), "</booking/slots?cursor=")
	for _, bad := range []string{"clinic.example", "ftp://x", "https://", "http://x/?q", "http://x/#f", "://"} {
		_, err := New(b.svc, Options{PublicURL: bad})
		require.Error(t, err, bad)
	}
}

// Without a public URL, type follows the Host, unless that is no host.
// Seen red with: notOfHost answering false.
func TestTypeFollowsHost(t *testing.T) {
	b := start(t)
	for host, want := range map[string]string{
		"clinic.example:8080": "http://clinic.example:8080/problems/not-found",
		"[::1]:8080":          "http://[::1]:8080/problems/not-found",
		`a"b<c>`:              "http://" + b.addr + "/problems/not-found",
		"a b":                 "http://" + b.addr + "/problems/not-found",
	} {
		a := b.raw("GET", "GET /nope HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
		if a.StatusCode == http.StatusNotFound {
			require.Equal(t, want, a.json["type"])
			continue
		}
		b.problem(a, 400, "malformed-request")
	}
	a := b.raw("GET", "GET /nope HTTP/1.0\r\n\r\n")
	require.Equal(t, "http://"+b.addr+"/problems/not-found", a.json["type"])
}
