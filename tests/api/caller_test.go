package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
)

// caller is a client with a connection of its own.
type caller struct {
	d      *desk
	client *http.Client
}

func (d *desk) caller() *caller {
	transport := &http.Transport{MaxConnsPerHost: 1}
	d.Cleanup(transport.CloseIdleConnections)
	return &caller{d, &http.Client{
		Transport:     transport,
		Timeout:       time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// answer is a response with its body read. Its status is 0 if none came.
type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request and holds the answer against the document. It may be
// called from any goroutine: what is wrong fails the test later.
func (c *caller) do(method, target, body string, headers ...string) answer {
	a, err := c.send(method, target, body, headers)
	if err != nil {
		c.d.Errorf("%s %s: %v", method, target, err)
	}
	return a
}

func (c *caller) send(method, target, body string, headers []string) (answer, error) {
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	req, err := http.NewRequest(method, c.d.url+target, content)
	if err != nil {
		return answer{}, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	res, err := c.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{}, err
	}
	return answer{res.StatusCode, res.Header, string(b)}, c.d.check(method, target, res, b)
}

func (d *desk) check(method, target string, res *http.Response, body []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.contract == nil {
		return nil // this is the document itself
	}
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return err
	}
	return d.contract.Check(method, u, res, body)
}

// json decodes an answer's body.
func (a answer) json() map[string]any {
	var v map[string]any
	_ = json.Unmarshal([]byte(a.body), &v)
	return v
}

// kind is the status, and the code if it is a problem: "409 slot-full".
func (a answer) kind() string {
	code, _ := a.json()["code"].(string)
	return strings.TrimSpace(fmt.Sprint(a.status, " ", code))
}

// pointers lists where a problem's errors point.
func (a answer) pointers() []string {
	var all []string
	list, _ := a.json()["errors"].([]any)
	for _, e := range list {
		p, _ := e.(map[string]any)["pointer"].(string)
		all = append(all, p)
	}
	return all
}

// slot publishes one from 09:00 to 09:30 on a day far ahead and returns its path.
func (c *caller) slot(capacity int) string {
	a := c.do("POST", "/slots", fmt.Sprintf(`{"starts_at":"2099-06-01T09:00:00Z","ends_at":"2099-06-01T09:30:00Z","capacity":%d}`, capacity))
	require.Equal(c.d, 201, a.status, a.body)
	return a.header.Get("Location")
}

func (c *caller) reserve(slot, user string) answer {
	body, _ := json.Marshal(map[string]string{"user_id": user})
	return c.do("POST", slot+"/reservations", string(body))
}

// number is one of a slot's numbers as GET answers it.
func (c *caller) number(slot, name string) int {
	a := c.do("GET", slot, "")
	require.Equal(c.d, 200, a.status, a.body)
	return int(a.json()[name].(float64))
}

// crowd is n callers whose connections are open.
type crowd []*caller

func (d *desk) crowd(n int) crowd {
	all := make(crowd, n)
	var ready sync.WaitGroup
	for i := range all {
		all[i] = d.caller()
		ready.Go(func() { all[i].do("GET", "/livez", "") })
	}
	ready.Wait()
	return all
}

// together lets all of them ask at once and counts the kinds of answers.
func (all crowd) together(ask func(i int, c *caller) answer) map[string]int {
	var (
		gate  = make(chan struct{})
		done  sync.WaitGroup
		mu    sync.Mutex
		kinds = map[string]int{}
	)
	for i, c := range all {
		done.Go(func() {
			<-gate
			kind := ask(i, c).kind()
			mu.Lock()
			defer mu.Unlock()
			kinds[kind]++
		})
	}
	close(gate)
	done.Wait()
	return kinds
}
