//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
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

// post is a request with a JSON body.
func post(path, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

// without is a request without a body.
func without(method, path string) []byte {
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: bench\r\n\r\n", method, path)
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
