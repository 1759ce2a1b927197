package histories

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// The size of a history: small, so that the checker can decide it, and over in
// some seconds, since the shortest hold lasts one.
const (
	slotCount  = 3
	clients    = 8 // at once
	bursts     = 10
	burst      = 6 // requests of one client without a pause
	unanswered = 6 // of one slot at most: each may have happened at any time, or never
)

// crowd is the clients of one history.
type crowd struct {
	t       *testing.T
	servers []string // URLs
	http    *http.Client
	start   time.Time
	slots   []*record
	broken  bool // the program is, so that it may say anything

	mu     sync.Mutex
	counts map[string]int // by what was asked and answered
}

// record is what was asked of one slot.
type record struct {
	id       int64
	capacity int // at its start
	version  atomic.Int64
	left     atomic.Int64 // requests whose client may still leave

	mu   sync.Mutex
	ops  []porcupine.Operation
	busy []porcupine.Operation // what was refused so, to be shown
}

func newCrowd(t *testing.T, servers ...string) *crowd {
	c := &crowd{t: t, servers: servers, counts: map[string]int{}, start: time.Now(),
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}, Timeout: 30 * time.Second}}
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}

// publish makes the slots of a history through one of the servers.
func (c *crowd) publish(random *rand.Rand) {
	for range slotCount {
		r := &record{capacity: 1 + random.IntN(2)}
		body := fmt.Sprintf(`{"starts_at":"2096-05-02T09:00:00Z","ends_at":"2096-05-02T09:30:00Z","capacity":%d}`, r.capacity)
		status, answer, err := c.call(context.Background(), c.servers[0], http.MethodPost, "/slots", "", body)
		require.NoError(c.t, err)
		require.Equal(c.t, http.StatusCreated, status)
		r.id = answer.ID
		r.version.Store(1)
		r.left.Store(unanswered)
		c.slots = append(c.slots, r)
	}
}

// play publishes the slots and sends the bursts. The pauses let holds run out.
func (c *crowd) play(seed uint64) {
	c.publish(rand.New(rand.NewPCG(seed, 1)))
	for n := range bursts {
		var done sync.WaitGroup
		for client := range clients {
			random := rand.New(rand.NewPCG(seed, uint64(n*clients+client)))
			done.Go(func() {
				for range burst {
					c.one(client, random, c.slots[random.IntN(slotCount)])
				}
			})
		}
		done.Wait()
		time.Sleep(250 * time.Millisecond) // so that holds expire between bursts, not only within
	}
	for _, r := range c.slots { // how it ended is part of the history
		c.ask(clients, rand.New(rand.NewPCG(seed, 0)), r, asked{kind: readSlot})
		for user := range users {
			c.ask(clients, rand.New(rand.NewPCG(seed, 0)), r, asked{kind: readOne, user: user})
		}
	}
}

// one asks for something by chance.
func (c *crowd) one(client int, random *rand.Rand, r *record) {
	in := asked{user: random.IntN(users)}
	switch n := random.IntN(100); {
	case n < 20:
		in.kind = reserve
	case n < 45:
		in.kind, in.hold = reserve, time.Second
		if random.IntN(5) == 0 {
			in.hold = time.Hour
		}
	case n < 60:
		in.kind = confirm
	case n < 73:
		in.kind = cancel
	case n < 82:
		in.kind = readSlot
	case n < 90:
		in.kind = readOne
	default:
		in.kind, in.version, in.capacity = edit, r.version.Load(), 1+random.IntN(3)
		if random.IntN(8) == 0 {
			in.version++
		}
	}
	c.ask(client, random, r, in)
}

// ask sends one request and notes what came of it. What is busy was not done,
// says the service, and is not part of the history: that it was done shows.
func (c *crowd) ask(client int, random *rand.Rand, r *record, in asked) {
	ctx, cancelled := context.Background(), context.CancelFunc(func() {})
	writes := in.kind != readSlot && in.kind != readOne
	if writes && client < clients && random.IntN(20) == 0 && r.left.Add(-1) >= 0 {
		ctx, cancelled = context.WithTimeout(ctx, time.Duration(random.IntN(4000))*time.Microsecond)
	}
	defer cancelled()
	method, path, match, body := in.request(r.id)
	in.sent = time.Since(c.start)
	status, answer, err := c.call(ctx, c.servers[random.IntN(len(c.servers))], method, path, match, body)
	in.back = time.Since(c.start)
	out := answer.told(in, status)
	if err != nil || out.code == "database-unavailable" {
		out, in.back = told{code: unknown}, never
	}
	c.count(in, out, status)
	if out.code == unknown && !writes {
		return
	}
	if v := out.version; v > 0 {
		r.version.Store(v)
	}
	op := porcupine.Operation{ClientId: client, Input: in, Output: out, Call: int64(in.sent), Return: int64(in.back)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if out.code == "busy" {
		r.busy = append(r.busy, op)
	} else {
		r.ops = append(r.ops, op)
	}
}

func (c *crowd) count(in asked, out told, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	code := out.code
	if code == unknown {
		code = "no answer"
	}
	c.counts[string(in.kind)+": "+code]++
	if status >= 500 && status != http.StatusServiceUnavailable && !c.broken {
		c.t.Errorf("%s was answered with %d", in.kind, status)
	}
}

// request is how the request goes over HTTP.
func (in asked) request(slot int64) (method, path, match, body string) {
	path = fmt.Sprintf("/slots/%d", slot)
	one := fmt.Sprintf("%s/reservations/user%d", path, in.user)
	switch in.kind {
	case reserve:
		hold := ""
		if in.hold > 0 {
			hold = fmt.Sprintf(`,"hold_seconds":%d`, int(in.hold.Seconds()))
		}
		return http.MethodPost, path + "/reservations", "", fmt.Sprintf(`{"user_id":"user%d"%s}`, in.user, hold)
	case confirm:
		return http.MethodPost, one + "/confirm", "", ""
	case cancel:
		return http.MethodDelete, one, "", ""
	case readOne:
		return http.MethodGet, one, "", ""
	case edit:
		return http.MethodPatch, path, fmt.Sprintf(`"%d"`, in.version), fmt.Sprintf(`{"capacity":%d}`, in.capacity)
	}
	return http.MethodGet, path, "", ""
}

// answered has the members of a slot, a reservation and a problem.
type answered struct {
	ID       int64
	Status   json.RawMessage // of a reservation; a problem's is a number
	Code     string
	Capacity int
	Reserved int
	Version  int64
}

func (a answered) told(in asked, status int) told {
	if status >= 400 {
		return told{code: a.Code, reserved: a.Reserved}
	}
	out := told{code: ok, held: string(a.Status) == `"held"`, capacity: a.Capacity, reserved: a.Reserved, version: a.Version}
	if in.kind != readSlot && in.kind != edit {
		out.id = a.ID
	}
	return out
}

func (c *crowd) call(ctx context.Context, server, method, path, match, body string) (status int, a answered, err error) {
	request, err := http.NewRequestWithContext(ctx, method, server+path, bytes.NewBufferString(body))
	if err != nil {
		return 0, a, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if match != "" {
		request.Header.Set("If-Match", match)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, a, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNoContent {
		return response.StatusCode, a, nil
	}
	return response.StatusCode, a, json.NewDecoder(response.Body).Decode(&a)
}
