package httpapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"slotkeeper/app"

	"github.com/stretchr/testify/require"
)

// Seen red with: c.Method() as a label (its buffer is used again: "GETC");
// answered not called; refused not called; an unknown method taken as a label.
func TestMetrics(t *testing.T) {
	m := NewMetrics()
	b := start(t, func(o *Options) { o.Metrics = m })
	slot := b.slotOf(1)
	for _, user := range []string{"a", "a", "b"} {
		b.do("POST", slot+"/reservations", `{"user_id":"`+user+`"}`)
	}
	b.do("GET", "/nope/"+strings.Repeat("x", 10), "")
	b.raw("BREW", b.request("BREW", "/slots", ""))
	b.raw("GET", "GET * HTTP/1.1\r\nHost: h\r\n\r\n")
	m.Retried(app.ReasonDeadlock)
	m.Retried("not of the set")
	m.Waited(30 * time.Millisecond)
	m.Judged(app.ActReserve, app.Reservation{Status: app.Held}, nil)
	m.Batch(7)
	m.Waiting(3)
	m.Waiting(-1)
	m.Swept(5)
	m.SetOverbooked(2)
	a := b.do("GET", "/metrics", "")
	require.Equal(t, 200, a.StatusCode)
	for _, line := range []string{
		`slotkeeper_http_requests_total{method="POST",route="/slots/{id}/reservations",status="201"} 1`,
		`slotkeeper_http_requests_total{method="POST",route="/slots/{id}/reservations",status="409"} 2`,
		`slotkeeper_http_requests_total{method="GET",route="(none)",status="404"} 1`,
		`slotkeeper_http_requests_total{method="TRACE",route="/slots",status="405"} 1`,
		`slotkeeper_http_requests_total{method="GET",route="(unread)",status="400"} 1`,
		`slotkeeper_http_request_duration_seconds_count{route="/slots/{id}/reservations"} 3`,
		`slotkeeper_refusals_total{code="already-reserved"} 1`,
		`slotkeeper_refusals_total{code="slot-full"} 1`,
		`slotkeeper_refusals_total{code="busy"} 0`,
		`slotkeeper_reservations_total{outcome="reserved"} 1`,
		`slotkeeper_reservations_total{outcome="held"} 1`,
		`slotkeeper_reservations_total{outcome="already-reserved"} 1`,
		`slotkeeper_reservations_total{outcome="slot-full"} 1`,
		`slotkeeper_reservations_total{outcome="client-gone"} 0`,
		`slotkeeper_tx_retries_total{reason="deadlock"} 1`,
		`slotkeeper_tx_retries_total{reason="other"} 1`,
		`slotkeeper_tx_retries_total{reason="unknown-outcome"} 0`,
		`slotkeeper_lock_wait_seconds_bucket{le="0.025"} 3`,
		`slotkeeper_lock_wait_seconds_count 4`,
		`slotkeeper_batch_size_sum 7`,
		`slotkeeper_queue_length 2`,
		`slotkeeper_swept_holds_total 5`,
		`slotkeeper_overbooked_slots 2`,
		`go_goroutines `,
		`process_resident_memory_bytes `,
	} {
		if !strings.Contains(a.body, "\n"+line) {
			t.Errorf("no line %s", line)
		}
	}
	require.NotContains(t, a.body, "xxxx", "no path is a label")
	NewMetrics() // each has a registry of its own
}

// The log has the route's pattern, never the path, which names people.
func TestLog(t *testing.T) {
	b := start(t)
	slot := b.slotOf(1)
	b.do("POST", slot+"/reservations", `{"user_id":"alice"}`)
	b.do("GET", slot+"/reservations/alice", "", "X-Request-Id: r1")
	b.do("GET", "/nope", "")
	lines := strings.Split(strings.TrimSpace(b.log.String()), "\n")
	require.Len(t, lines, 4)
	require.NotContains(t, b.log.String(), "alice")
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[2]), &line))
	require.Equal(t, "INFO", line["level"])
	require.Equal(t, "GET", line["method"])
	require.Equal(t, "/slots/{id}/reservations/{user_id}", line["route"])
	require.EqualValues(t, 200, line["status"])
	require.Equal(t, "r1", line["request_id"])
	require.Positive(t, line["duration"])
	require.Positive(t, line["bytes"])
	require.NotContains(t, line, "path")
	require.Contains(t, lines[3], `"path":"/nope"`)
	// Without a Logger there is no log, and all else works.
	quiet := start(t, func(o *Options) { o.Logger = nil })
	require.Equal(t, 200, quiet.do("GET", "/livez", "").StatusCode)
}
