package outage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// place is one user's reservation of one slot.
type place struct {
	slot int64
	user string
}

// state is what the clients know about a place.
type state int

const (
	absent state = iota
	present
	unknown // no answer, or one that leaves it open
)

// load is what the clients do, and the book of what they were told.
type load struct {
	url   string
	http  http.Client
	slots []int64
	bound time.Duration // of an answer
	pause time.Duration // between two requests of a client
	dies  bool          // the server may end under a request

	stop chan struct{}
	once sync.Once
	done sync.WaitGroup

	mu      sync.Mutex
	book    map[place]state
	answers map[string]int
	wrong   []string
	slowest time.Duration
}

func newLoad(url string, slots []int64, bound time.Duration) *load {
	return &load{
		url: url, slots: slots, bound: bound, stop: make(chan struct{}),
		// Beyond the bound, so that a hang is told from a slow answer.
		http: http.Client{Timeout: bound + 30*time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 2 * clients}},
		book: map[place]state{}, answers: map[string]int{},
	}
}

func (l *load) begin() {
	for i := range clients {
		l.done.Go(func() { l.client(i) })
	}
}

// end stops the clients and waits for their last answers.
func (l *load) end() {
	l.once.Do(func() { close(l.stop) })
	l.done.Wait()
}

// client reserves and cancels in turns that chance decides; every second
// request wants the first slot.
func (l *load) client(i int) {
	var mine []place
	for n := 0; ; n++ {
		select {
		case <-l.stop:
			return
		default:
		}
		failed := false
		switch at := rand.N(10); {
		case at == 0:
			failed = l.read(l.slots[rand.N(len(l.slots))])
		case at < 5 && len(mine) > 0:
			j := rand.N(len(mine))
			failed = l.cancel(mine[j])
		case at == 9 && len(mine) > 0 && l.state(mine[len(mine)-1]) == unknown: // repeated, as the page of the problem says
			failed = l.reserve(mine[len(mine)-1])
		default:
			p := place{l.slots[0], fmt.Sprintf("c%02d-%d", i, n)}
			if rand.N(2) == 0 {
				p.slot = l.slots[1+rand.N(len(l.slots)-1)]
			}
			failed = l.reserve(p)
			mine = append(mine, p)
		}
		mine = slices.DeleteFunc(mine, func(p place) bool { return l.state(p) == absent })
		if failed {
			time.Sleep(50 * time.Millisecond) // a client that is told to come again later
		}
		time.Sleep(l.pause) // thinks
	}
}

func (l *load) reserve(p place) (failed bool) {
	answer, status, sent, took := l.ask("POST", p.slot, p.user)
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.book[p]
	switch {
	case status == 201 && was != present:
		l.book[p] = present
	case answer == "409 already-reserved" && was != absent:
		l.book[p] = present
	case answer == "409 slot-full":
		l.book[p] = absent // a duplicate would have been told first
	default:
		failed = true
		l.open(p, answer, sent, "POST")
	}
	l.note(answer, took)
	return failed
}

func (l *load) cancel(p place) (failed bool) {
	answer, status, sent, took := l.ask("DELETE", p.slot, p.user)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case status == 204:
		l.book[p] = absent
	case answer == "404 reservation-not-found" && l.book[p] == unknown:
		l.book[p] = absent
	default:
		failed = true
		l.open(p, answer, sent, "DELETE")
	}
	l.note(answer, took)
	return failed
}

// open is for what was not done for sure: "busy" says that nothing was
// written, a broken connection or a database that went away leave it open.
func (l *load) open(p place, answer string, sent bool, what string) {
	switch {
	case answer == "503 busy", !sent:
	case answer == "503 database-unavailable", answer == "no answer" && l.dies:
		l.book[p] = unknown
	default:
		l.wrong = append(l.wrong, fmt.Sprintf("%s %v: %s", what, p, answer))
	}
}

func (l *load) read(slot int64) (failed bool) {
	answer, status, sent, took := l.ask("GET", slot, "")
	l.mu.Lock()
	defer l.mu.Unlock()
	if status != 200 && sent {
		l.open(place{}, answer, false, "GET")
		failed = true
		if !strings.HasPrefix(answer, "503 ") && (answer != "no answer" || !l.dies) {
			l.wrong = append(l.wrong, fmt.Sprintf("GET %d: %s", slot, answer))
		}
	}
	l.note(answer, took)
	return failed
}

// note counts an answer.
func (l *load) note(answer string, took time.Duration) {
	l.answers[answer]++
	l.slowest = max(l.slowest, took)
	if took > l.bound {
		l.wrong = append(l.wrong, fmt.Sprintf("%s after %v", answer, took))
	}
}

func (l *load) state(p place) state {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book[p]
}

// ask sends one request. answer is its status with the problem's code, or "no
// answer"; sent is false where the server was not reached at all.
func (l *load) ask(method string, slot int64, user string) (answer string, status int, sent bool, took time.Duration) {
	url, body := fmt.Sprintf("%s/slots/%d", l.url, slot), ""
	switch method {
	case "POST":
		url, body = url+"/reservations", fmt.Sprintf(`{"user_id":%q}`, user)
	case "DELETE":
		url += "/reservations/" + user
	}
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return err.Error(), 0, true, 0
	}
	req.Header.Set("Content-Type", "application/json")
	since := time.Now()
	resp, err := l.http.Do(req)
	if err == nil {
		defer resp.Body.Close()
		var text []byte
		if text, err = io.ReadAll(resp.Body); err == nil {
			return explained(resp, text), resp.StatusCode, true, time.Since(since)
		}
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return "not reached", 0, false, time.Since(since)
	}
	return "no answer", 0, true, time.Since(since)
}

func explained(resp *http.Response, body []byte) string {
	if resp.StatusCode < 400 {
		return fmt.Sprint(resp.StatusCode)
	}
	var problem struct{ Code string }
	if err := json.Unmarshal(body, &problem); err != nil {
		return fmt.Sprintf("%d %q", resp.StatusCode, body)
	}
	answer := fmt.Sprintf("%d %s", resp.StatusCode, problem.Code)
	if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" {
		answer += " without Retry-After"
	}
	return answer
}

// seen is how many answers there were of a kind.
func (l *load) seen(answers ...string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range answers {
		n += l.answers[a]
	}
	return n
}

// more waits for n more answers of the kinds given.
func (l *load) more(t testing.TB, n int, answers ...string) {
	t.Helper()
	before := l.seen(answers...)
	until(t, 30*time.Second, fmt.Sprintf("%d more of %v", n, answers), func() bool {
		require.Empty(t, l.mistakes(), "answers that must not be")
		return l.seen(answers...) >= before+n
	})
}

func (l *load) mistakes() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wrong[:min(len(l.wrong), 10)]
}

func (l *load) counts() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var parts []string
	for _, a := range slices.Sorted(maps.Keys(l.answers)) {
		parts = append(parts, fmt.Sprintf("%d× %s", l.answers[a], a))
	}
	return strings.Join(parts, ", ")
}

// compare holds the book against the live rows, slot by slot and user by user.
func (l *load) compare(t testing.TB, have map[int64]map[string]bool) string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var n [3]int
	var written int
	for p, s := range l.book {
		n[s]++
		is := have[p.slot][p.user]
		if s == unknown && is {
			written++
		}
		assert.False(t, s == present && !is, "%v was told 201 and has no row", p)
		assert.False(t, s == absent && is, "%v was told that nothing is written, or 204, and has a row", p)
	}
	return fmt.Sprintf("%d places known to be taken, %d to be free, %d open of which %d are taken", n[present], n[absent], n[unknown], written)
}
