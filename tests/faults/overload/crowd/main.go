// Command crowd asks a server for reservations over many connections, as fast
// as they are answered or at a rate that does not care, and prints as JSON what
// came of it. It is a program of its own so that the race detector of the tests
// does not slow it down, and speaks HTTP itself so that it takes little of the
// processors that the server needs.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// crowd is what was asked for.
type crowd struct {
	address     string
	connections int
	rate        float64 // requests a second that are due; 0 sends when answered
	span        time.Duration
	first       int64 // number of the first user
	slots       int64 // ids 1 to slots are asked for
}

// Seen is what came of it. A request is known by the number of its user, and
// asks for slot number%slots+1.
type Seen struct {
	Due      int            // requests that the rate asked for
	Unsent   int            // of those, the ones for which no connection was free
	Answers  map[string]int // by status and code
	Accepted []int64
	InTime   int // of those, the ones answered while requests were sent
	Refused  []int64
	Waits    map[string]Waits // by status
}

// Waits are times from sending to the answer.
type Waits struct{ Median, P99, Longest time.Duration }

// client is one connection.
type client struct {
	conn    net.Conn
	reader  *bufio.Reader
	end     time.Time
	inTime  int
	answers map[string]int
	ids     map[string][]int64
	waits   map[string][]time.Duration
}

func main() {
	var c crowd
	flag.StringVar(&c.address, "address", "", "host:port of the server")
	flag.IntVar(&c.connections, "connections", 64, "connections")
	flag.Float64Var(&c.rate, "rate", 0, "requests a second; 0 sends the next when one is answered")
	flag.DurationVar(&c.span, "span", time.Second, "how long requests are sent")
	flag.Int64Var(&c.first, "first", 0, "number of the first user")
	flag.Int64Var(&c.slots, "slots", 1, "how many slots are asked for")
	flag.Parse()
	seen, err := c.run()
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(seen)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (c crowd) run() (Seen, error) {
	clients := make([]*client, c.connections)
	for i := range clients {
		conn, err := net.Dial("tcp", c.address)
		if err != nil {
			return Seen{}, fmt.Errorf("connection %d: %w", i, err)
		}
		defer conn.Close()
		clients[i] = &client{conn: conn, reader: bufio.NewReaderSize(conn, 2048),
			answers: map[string]int{}, ids: map[string][]int64{}, waits: map[string][]time.Duration{}}
	}
	var next atomic.Int64
	next.Store(c.first)
	seen := Seen{}
	turns := make(chan struct{}) // one a request, if there is a rate
	errs := make([]error, c.connections)
	var begun time.Time
	start := make(chan struct{})
	var ready, all sync.WaitGroup
	ready.Add(len(clients))
	for i, one := range clients {
		all.Go(func() {
			ready.Done()
			<-start // all at once
			one.end = begun.Add(c.span)
			for errs[i] == nil {
				if c.rate == 0 && time.Now().After(one.end) {
					return
				}
				if c.rate > 0 {
					if _, more := <-turns; !more {
						return
					}
				}
				errs[i] = one.ask(next.Add(1), c.slots)
			}
		})
	}
	ready.Wait()
	begun = time.Now()
	close(start)
	if c.rate > 0 {
		seen.Due, seen.Unsent = c.pace(begun, turns)
	}
	close(turns)
	all.Wait()
	return seen.add(clients), errors.Join(errs...)
}

// pace hands out turns at the rate, and drops those that nobody is free to take.
func (c crowd) pace(begun time.Time, turns chan<- struct{}) (due, unsent int) {
	for tick := time.NewTicker(time.Millisecond); ; <-tick.C {
		passed := time.Since(begun)
		if passed > c.span {
			tick.Stop()
			return due, unsent
		}
		for ; due < int(c.rate*passed.Seconds()); due++ {
			select {
			case turns <- struct{}{}:
			default:
				unsent++
			}
		}
	}
}

// hang is when an answer is no longer waited for: far beyond any time that a
// call may take on a machine with other work.
const hang = time.Minute

// ask sends one request and notes its answer.
func (c *client) ask(number, slots int64) error {
	body := fmt.Sprintf(`{"user_id":"%d"}`, number)
	sent := time.Now()
	if err := c.conn.SetDeadline(sent.Add(hang)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.conn, "POST /slots/%d/reservations HTTP/1.1\r\nHost: crowd\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		number%slots+1, len(body), body); err != nil {
		return err
	}
	status, what, err := c.answer()
	if err != nil {
		return err
	}
	now := time.Now()
	if status == "201" && now.Before(c.end) {
		c.inTime++
	}
	c.answers[what]++
	c.ids[what] = append(c.ids[what], number)
	c.waits[status] = append(c.waits[status], now.Sub(sent))
	return nil
}

// answer reads one answer: its status, and that with the problem's code and
// whether it says when to come again.
func (c *client) answer() (status, what string, err error) {
	length, again := 0, false
	for line := 0; ; line++ {
		b, err := c.reader.ReadSlice('\n')
		if err != nil {
			return "", "", err
		}
		b = bytes.TrimRight(b, "\r\n")
		name, value, _ := bytes.Cut(b, []byte(": "))
		switch {
		case line == 0 && len(b) >= 12:
			status = string(b[9:12])
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return "", "", err
			}
		case bytes.EqualFold(name, []byte("Retry-After")):
			again = true
		}
		if len(b) == 0 {
			break
		}
	}
	body, err := c.reader.Peek(length)
	if err != nil {
		return "", "", err
	}
	defer func() { _, _ = c.reader.Discard(length) }() // it was peeked at
	if status == "201" {
		return status, status, nil
	}
	_, code, found := bytes.Cut(body, []byte(`"code":"`))
	code, _, ends := bytes.Cut(code, []byte(`"`))
	if !found || !ends {
		return "", "", fmt.Errorf("%s with %q", status, body)
	}
	what = status + " " + string(code)
	if status == "503" && !again {
		what += " without Retry-After"
	}
	return status, what, nil
}

func (s Seen) add(clients []*client) Seen {
	s.Answers, s.Waits = map[string]int{}, map[string]Waits{}
	waits := map[string][]time.Duration{}
	for _, c := range clients {
		for what, n := range c.answers {
			s.Answers[what] += n
		}
		for status, w := range c.waits {
			waits[status] = append(waits[status], w...)
		}
		s.InTime += c.inTime
		s.Accepted = append(s.Accepted, c.ids["201"]...)
		s.Refused = append(s.Refused, c.ids["503 busy"]...)
	}
	for status, w := range waits {
		slices.Sort(w)
		s.Waits[status] = Waits{w[len(w)/2], w[len(w)*99/100], w[len(w)-1]}
	}
	return s
}
