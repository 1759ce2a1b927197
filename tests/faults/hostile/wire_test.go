package hostile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"
)

// hostile is one connection's worth of bytes and what may come of them.
type hostile struct {
	kind string // figures are printed by kind
	name string
	raw  string // {host} is where the server listens
	// want is what must be answered, in order: "201", "422 validation-failed",
	// or several with "|" between them. After the last answer the server must
	// close, if there is more than one or last is set.
	want []string
	last bool
}

// request writes one with a right Content-Length, and closes after it.
func request(method, target, body string, headers ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: {host}\r\n", method, target)
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	if body != "" {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return b.String() + "\r\n" + body
}

// send has one hostile answered and says what is wrong with what came.
func (d *desk) send(h hostile) error {
	raw := strings.ReplaceAll(h.raw, "{host}", d.server.Address)
	conn, err := net.Dial("tcp", d.server.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return err
	}
	// The server may refuse and close before all is sent; what counts is what it answers.
	_, _ = io.WriteString(conn, raw)
	from := bufio.NewReader(conn)
	for i, want := range h.want {
		got, err := d.answer(from, raw)
		if err != nil {
			return fmt.Errorf("answer %d, wanted %s: %w", i, want, err)
		}
		if !allowed(want, got) {
			return fmt.Errorf("answer %d is %s, wanted %s", i, got, want)
		}
	}
	if len(h.want) < 2 && !h.last {
		return nil
	}
	rest, err := io.ReadAll(from)
	if len(rest) > 0 {
		return fmt.Errorf("more was answered: %.200q", rest)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.New("the connection stays open")
	}
	return nil
}

func allowed(want, got string) bool {
	for w := range strings.SplitSeq(want, "|") {
		if w == got {
			return true
		}
	}
	return false
}

// telltale is what an answer must not show of the inside.
var telltale = regexp.MustCompile(`(?i)goroutine \d|panic|runtime error|\.go:\d|/(?:tmp|root|home|usr|go)/|\bpgx\b|sqlstate|\bsqlite\b|modernc|mattn|\bpq:|syntax error|near "|\b(?:select|insert into|update|delete from|drop table)\b|constraint|fasthttp|fiber`)

// answer reads one answer and returns its kind: "200", "404 slot-not-found".
func (d *desk) answer(from *bufio.Reader, raw string) (string, error) {
	method, _, _ := strings.Cut(raw, " ")
	res, err := http.ReadResponse(from, &http.Request{Method: method})
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	_ = res.Body.Close()
	if res.StatusCode == http.StatusContinue {
		return d.answer(from, raw)
	}
	d.answers.Add(1)
	kind := fmt.Sprint(res.StatusCode)
	if res.StatusCode < 400 {
		if res.StatusCode == http.StatusCreated && strings.HasPrefix(res.Header.Get("Location"), "/slots/") && !strings.Contains(res.Header.Get("Location"), "/reservations") {
			d.made.Add(1)
		}
		return kind, header(res)
	}
	if got := res.Header.Get("Content-Type"); got != "application/problem+json" {
		return kind, fmt.Errorf("%s of type %q: %.200q", kind, got, body)
	}
	if method == http.MethodHead {
		return kind, header(res)
	}
	var p struct {
		Type, Title, Detail, Code string
		Status                    int
	}
	if err := json.Unmarshal(body, &p); err != nil || p.Code == "" || p.Title == "" || p.Detail == "" || p.Status != res.StatusCode || !strings.HasSuffix(p.Type, "/problems/"+p.Code) {
		return kind, fmt.Errorf("%s is no problem: %.300q", kind, body)
	}
	plain, _ := url.QueryUnescape(strings.ReplaceAll(raw, "%zz", ""))
	sent := strings.ToLower(raw + plain)
	for _, told := range telltale.FindAllString(string(body), -1) {
		if !strings.Contains(sent, strings.ToLower(told)) { // it may repeat what it was sent
			return kind, fmt.Errorf("the answer shows %q: %s", told, body)
		}
	}
	return kind + " " + p.Code, header(res)
}

var saneID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// header requires what every answer has, and nothing that a request put there.
func header(res *http.Response) error {
	if ids := res.Header.Values("X-Request-Id"); len(ids) != 1 || !saneID.MatchString(ids[0]) {
		return fmt.Errorf("request ids %q", ids)
	}
	if res.Header.Get("X-Content-Type-Options") != "nosniff" || res.Header.Get("Injected") != "" {
		return fmt.Errorf("headers %v", res.Header)
	}
	return nil
}
