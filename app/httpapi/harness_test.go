package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"slotkeeper/app"
	"slotkeeper/tests/api/contract"

	"github.com/stretchr/testify/require"
)

// bench is a Server over a fake Store on a loopback listener.
type bench struct {
	t        *testing.T
	store    *fake
	svc      *app.Service
	srv      *Server
	addr     string
	log      *safeBuffer
	contract *contract.Contract
}

// documented reads the document once: that takes longer than most tests.
var documented = sync.OnceValues(func() (*contract.Contract, error) {
	doc, err := document("")
	if err != nil {
		return nil, err
	}
	return contract.New(doc)
})

func start(t *testing.T, change ...func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, store: &fake{}, log: &safeBuffer{}}
	opts := Options{Logger: slog.New(slog.NewJSONHandler(b.log, nil)), Metrics: NewMetrics()}
	for _, c := range change {
		c(&opts)
	}
	b.svc = app.NewService(b.store, app.Config{CallTimeout: 2 * time.Second, Observer: opts.Metrics})
	srv, err := New(b.svc, opts)
	require.NoError(t, err)
	b.srv = srv
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b.addr = ln.Addr().String()
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = srv.Shutdown(ctx)
		require.NoError(t, <-served)
	})
	b.contract, err = documented()
	require.NoError(t, err)
	return b
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// answer is a response with its body read and, if it is JSON, decoded.
type answer struct {
	*http.Response
	body string
	json map[string]any
}

// do sends a request with its target as it stands, and holds the answer
// against the OpenAPI document. A body is JSON unless a header says otherwise.
func (b *bench) do(method, target, body string, headers ...string) answer {
	b.t.Helper()
	a := b.raw(method, b.request(method, target, body, headers...))
	u, err := url.ParseRequestURI(target)
	if err == nil {
		require.NoError(b.t, b.contract.Check(method, u, a.Response, []byte(a.body)))
	}
	return a
}

func (b *bench) request(method, target, body string, headers ...string) string {
	var w strings.Builder
	fmt.Fprintf(&w, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, target, b.addr)
	all := strings.Join(headers, "\r\n")
	if body != "" {
		fmt.Fprintf(&w, "Content-Length: %d\r\n", len(body))
		if !strings.Contains(strings.ToLower(all), "content-type") {
			w.WriteString("Content-Type: application/json\r\n")
		}
	}
	for _, h := range headers {
		if strings.IndexByte(h, ':') != len(h)-1 { // "Content-Type:" alone sends none
			w.WriteString(h + "\r\n")
		}
	}
	return w.String() + "\r\n" + body
}

// raw sends bytes on a connection of their own and reads one answer.
func (b *bench) raw(method, bytes string) answer {
	b.t.Helper()
	conn, err := net.Dial("tcp", b.addr)
	require.NoError(b.t, err)
	defer conn.Close()
	require.NoError(b.t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = io.WriteString(conn, bytes)
	require.NoError(b.t, err)
	return b.read(method, bufio.NewReader(conn))
}

func (b *bench) read(method string, from *bufio.Reader) answer {
	b.t.Helper()
	res, err := http.ReadResponse(from, &http.Request{Method: method})
	require.NoError(b.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(b.t, err)
	a := answer{Response: res, body: string(body)}
	if strings.Contains(res.Header.Get("Content-Type"), "json") && len(body) > 0 {
		require.NoError(b.t, json.Unmarshal(body, &a.json), a.body)
	}
	return a
}

// problem requires a problem of this status and code.
func (b *bench) problem(a answer, status int, code string) map[string]any {
	b.t.Helper()
	require.Equal(b.t, status, a.StatusCode, a.body)
	require.Equal(b.t, "application/problem+json", a.Header.Get("Content-Type"))
	require.Equal(b.t, code, a.json["code"], a.body)
	require.EqualValues(b.t, status, a.json["status"])
	return a.json
}

// where lists the pointers (or parameters) of a problem's errors.
func where(problem map[string]any, member string) []string {
	var all []string
	list, _ := problem["errors"].([]any)
	for _, e := range list {
		s, _ := e.(map[string]any)[member].(string)
		all = append(all, s)
	}
	return all
}

// slotOf creates a slot far in the future and returns its path.
func (b *bench) slotOf(capacity int) string {
	b.t.Helper()
	a := b.do("POST", "/slots", fmt.Sprintf(`{"starts_at":"2099-01-01T09:00:00Z","ends_at":"2099-01-01T09:30:00Z","capacity":%d}`, capacity))
	require.Equal(b.t, 201, a.StatusCode, a.body)
	return a.Header.Get("Location")
}
