//go:build linux

package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// costOfSize measures what does not grow: reserving in a large and nearly full
// slot, a page of slots among many, a page of one slot's reservations. One
// client after the other, so that the figure is the work and not the queue.
func (b *bench) costOfSize(ctx context.Context, _, binary string) error {
	c, err := startPostgres(ctx)
	if err != nil {
		return err
	}
	defer c.stop()
	if err := c.create(ctx, "product"); err != nil {
		return err
	}
	p, err := startProduct(ctx, binary, c.DSN("product"))
	if err != nil {
		return err
	}
	defer p.stop()
	slots, err := filled(ctx, c, p)
	if err != nil {
		return err
	}
	if err := b.reserveInLarge(ctx, p, slots); err != nil {
		return err
	}
	few, err := drive(ctx, p.addr, 1, b.span, fixed(without("GET", "/slots?limit=100")))
	if err != nil {
		return err
	}
	b.measured("list 100 slots of 5", "slotkeeper", 1, few)
	if err := b.amongMany(ctx, c, p, slots[len(slots)-1]); err != nil {
		return err
	}
	return p.check(ctx)
}

// sized is a slot with all but a hundredth of its capacity taken.
type sized struct{ id, capacity, taken int }

func filled(ctx context.Context, c *postgres, p *product) ([]sized, error) {
	var slots []sized
	for _, s := range []sized{{0, 10, 9}, {0, 100, 99}, {0, 1000, 990}, {0, 10_000, 9_900}, {0, 100_000, 99_000}} {
		id, err := p.publish(1, s.capacity)
		if err != nil {
			return nil, err
		}
		s.id = id
		slots = append(slots, s)
		err = c.exec(ctx, "product", fmt.Sprintf(
			"INSERT INTO reservations (slot_id, user_id) SELECT %d, 'taken' || n FROM generate_series(1, %d) n", id, s.taken))
		if err != nil {
			return nil, err
		}
	}
	return slots, c.exec(ctx, "product", "VACUUM ANALYZE")
}

// reserveInLarge reserves and cancels in turn, so that each slot stays as full
// as it is, in rounds over the slots, so that a drift of the machine's speed
// meets all of them alike.
func (b *bench) reserveInLarge(ctx context.Context, p *product, slots []sized) error {
	const rounds = 5
	waits := make([]load, len(slots))
	for range rounds {
		for i, s := range slots {
			path := "/slots/" + strconv.Itoa(s.id) + "/reservations"
			l, err := drive(ctx, p.addr, 1, b.span/rounds, func(_, n int) []byte {
				if n%2 == 0 {
					return post(path, `{"user_id":"guest"}`)
				}
				return without("DELETE", path+"/guest")
			})
			if err != nil {
				return err
			}
			if l.answers[201] == 0 || l.answers[201]+l.answers[204] != len(l.waits) {
				return fmt.Errorf("reserving in turn answered %v", l.answers)
			}
			waits[i] = merge(waits[i], l)
			if n := l.answers[201] - l.answers[204]; n > 0 { // ended on a reservation
				if _, err := call(p.addr, without("DELETE", path+"/guest")); err != nil {
					return err
				}
			}
		}
	}
	for i, s := range slots {
		l := b.measured(fmt.Sprintf("reserve, cancel at %d of %d", s.taken, s.capacity), "slotkeeper", 1, waits[i])
		b.costs = append(b.costs, point{float64(s.capacity), float64(l.at(0.5).Microseconds())})
	}
	b.compare("capacity 100 000 (99 000 taken) against capacity 10, median wait", "at most 1.2",
		float64(waits[len(slots)-1].at(0.5))/float64(waits[0].at(0.5)), false, 1.2, "%.2f times")
	return nil
}

// amongMany lists among 100 000 slots with a million reservations.
func (b *bench) amongMany(ctx context.Context, c *postgres, p *product, large sized) error {
	err := c.exec(ctx, "product",
		`INSERT INTO slots (starts_at, ends_at, capacity)
		 SELECT t, t + interval '20 minutes', 20 FROM (SELECT timestamptz '2051-01-01' + n * interval '1 minute' AS t FROM generate_series(1, 100000) n) s`,
		`INSERT INTO reservations (slot_id, user_id)
		 SELECT id, 'u' || n FROM slots, generate_series(1, 10) n WHERE starts_at >= '2051-01-01'`,
		`VACUUM ANALYZE`)
	if err != nil {
		return err
	}
	middle := time.Date(2051, 2, 1, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)
	for part, path := range map[string]string{
		"list 100 slots of 100 000":          "/slots?limit=100&from=" + middle,
		"list 100 free slots of 100 000":     "/slots?available=true&limit=100&from=" + middle,
		"page of 100 of 99 000 reservations": "/slots/" + strconv.Itoa(large.id) + "/reservations?limit=100",
	} {
		l, err := drive(ctx, p.addr, 1, b.span, fixed(without("GET", path)))
		if err != nil {
			return err
		}
		if l.answers[200] != len(l.waits) {
			return fmt.Errorf("%s answered %v", path, l.answers)
		}
		b.measured(part, "slotkeeper", 1, l)
	}
	return nil
}
