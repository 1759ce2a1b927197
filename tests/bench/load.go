//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// load is what a crowd of clients saw.
type load struct {
	took    time.Duration
	waits   []time.Duration // of the answered requests, ascending
	answers map[int]int     // by HTTP status
}

func (l load) rate() float64 { return float64(len(l.waits)) / l.took.Seconds() }

// at returns the wait that this share of the requests did not exceed.
func (l load) at(share float64) time.Duration {
	if len(l.waits) == 0 {
		return 0
	}
	return l.waits[min(len(l.waits)-1, int(share*float64(len(l.waits))))]
}

// requester gives client c's n-th request, whole as it goes over the wire.
type requester func(c, n int) []byte

// drive lets clients send one request after the other, each over its own
// connection, for a while, and returns what they saw. It speaks HTTP itself:
// the measuring must cost less than what is measured.
func drive(ctx context.Context, addr string, clients int, span time.Duration, next requester) (load, error) {
	conns := make([]net.Conn, clients)
	for i := range conns {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return load{}, err
		}
		defer c.Close()
		conns[i] = c
	}
	type seen struct {
		waits   []time.Duration
		answers map[int]int
		err     error
	}
	all := make([]seen, clients)
	var crowd sync.WaitGroup
	begun := time.Now()
	end := begun.Add(span)
	for c := range clients {
		crowd.Go(func() {
			s := seen{answers: map[int]int{}}
			r := bufio.NewReaderSize(conns[c], 2048)
			for n := 0; ctx.Err() == nil; n++ {
				sent := time.Now()
				if sent.After(end) {
					break
				}
				status, err := exchange(conns[c], r, next(c, n))
				if err != nil {
					s.err = err
					break
				}
				s.waits = append(s.waits, time.Since(sent))
				s.answers[status]++
			}
			all[c] = s
		})
	}
	crowd.Wait()
	l := load{took: time.Since(begun), answers: map[int]int{}}
	for _, s := range all {
		if s.err != nil {
			return l, s.err
		}
		l.waits = append(l.waits, s.waits...)
		for status, n := range s.answers {
			l.answers[status] += n
		}
	}
	slices.Sort(l.waits)
	for status, n := range l.answers {
		if status >= 500 {
			return l, fmt.Errorf("%d answers said %d", n, status)
		}
	}
	return l, ctx.Err()
}

// exchange sends a request and reads its answer, which has a Content-Length.
func exchange(w io.Writer, r *bufio.Reader, request []byte) (status int, err error) {
	if _, err := w.Write(request); err != nil {
		return 0, err
	}
	length := 0
	for line := 0; ; line++ {
		b, err := r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		b = bytes.TrimRight(b, "\r\n")
		switch {
		case line == 0:
			if len(b) < 12 {
				return 0, fmt.Errorf("no HTTP answer: %q", b)
			}
			if status, err = strconv.Atoi(string(b[9:12])); err != nil {
				return 0, err
			}
		case len(b) == 0:
			_, err := r.Discard(length)
			return status, err
		case len(b) > 15 && bytes.EqualFold(b[:15], []byte("Content-Length:")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(b[15:]))); err != nil {
				return 0, err
			}
		}
	}
}

// post is a request with a JSON body.
func post(path, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

// without is a request without a body.
func without(method, path string) []byte {
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: bench\r\n\r\n", method, path)
}

// call sends one request over a connection of its own and returns the answer's
// status.
func call(addr string, request []byte) (int, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return exchange(c, bufio.NewReader(c), request)
}

// until tries f every 20 ms for at most ten seconds.
func until(ctx context.Context, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func brief(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	}
	return fmt.Sprintf("%d µs", d.Microseconds())
}

// fetch sends one request over a connection of its own and returns the
// answer's body.
func fetch(addr string, request []byte) ([]byte, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, err := c.Write(request); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}
