//go:build linux

package main

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

const crowd = 256 // clients of the goals' figures

// users numbers the requests of the whole run, so that no user asks twice.
var users atomic.Int64

// reserving spreads clients over n slots from first on.
func reserving(first, n int) requester {
	return func(c, i int) []byte {
		slot := first + (c*7919+i)%n
		return post("/slots/"+strconv.Itoa(slot)+"/reservations", `{"user_id":"u`+strconv.FormatInt(users.Add(1), 10)+`"}`)
	}
}

// mixing reserves, cancels what was reserved, and reads: 60, 20 and 20 of 100.
func mixing(first, n int) requester {
	type place struct{ slot, user string }
	held := make([][]place, crowd)
	return func(c, i int) []byte {
		slot := strconv.Itoa(first + (c*7919+i)%n)
		switch {
		case i%5 == 3 && len(held[c]) > 0:
			p := held[c][0]
			held[c] = held[c][1:]
			return without("DELETE", "/slots/"+p.slot+"/reservations/"+p.user)
		case i%5 == 4:
			return without("GET", "/slots/"+slot)
		}
		user := "u" + strconv.FormatInt(users.Add(1), 10)
		held[c] = append(held[c], place{slot, user})
		return post("/slots/"+slot+"/reservations", `{"user_id":"`+user+`"}`)
	}
}

func fixed(request []byte) requester { return func(int, int) []byte { return request } }

// rounds is how often two rivals take turns.
const rounds = 5

// duel lets two take turns, so that a drift of the machine's speed meets both
// alike, and returns what each saw in all its turns.
func (b *bench) duel(one, other func(span time.Duration) (load, error)) (first, second load, err error) {
	span := max(b.span*2/rounds, time.Second) // pgbench counts in seconds
	for range rounds {
		l, err := one(span)
		if err != nil {
			return first, second, err
		}
		first = merge(first, l)
		if l, err = other(span); err != nil {
			return first, second, err
		}
		second = merge(second, l)
	}
	return first, second, nil
}

// at asks one address.
func at(ctx context.Context, addr string, clients int, next requester) func(time.Duration) (load, error) {
	return func(span time.Duration) (load, error) { return drive(ctx, addr, clients, span, next) }
}

// only fails unless every answer had this status.
func only(status int, l load) error {
	if l.answers[status] != len(l.waits) {
		return fmt.Errorf("%d was expected of all, and the answers are %v", status, l.answers)
	}
	return nil
}

func (b *bench) plot(series string, clients int, l load) {
	b.rates[series] = append(b.rates[series], point{float64(clients), l.rate()})
}
