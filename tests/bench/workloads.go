//go:build linux

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"
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

// mixed reserves, cancels what was reserved, and reads: 60, 20 and 20 of 100.
func mixed(first, n int) requester {
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

func (b *bench) onPostgres(ctx context.Context, dir, binary string) error {
	c, err := startCluster(ctx, dir)
	if err != nil {
		return err
	}
	defer c.stop()
	if err := c.create(ctx, "lean", leanSchema...); err != nil {
		return err
	}
	many, _, err := b.pgbench(ctx, c, 1000)
	if err != nil {
		return err
	}
	one, _, err := b.pgbench(ctx, c, 1)
	if err != nil {
		return err
	}
	plain, stop, err := b.plainPostgres(ctx, c)
	if err != nil {
		return err
	}
	defer stop()
	if err := c.create(ctx, "product"); err != nil {
		return err
	}
	p, err := startProduct(ctx, binary, c.dsn("product"))
	if err != nil {
		return err
	}
	defer p.stop()
	return b.productPostgres(ctx, c, p, many, one, plain)
}

// plainPostgres serves and measures the plain handler.
func (b *bench) plainPostgres(ctx context.Context, c *cluster) (addr string, stop func(), err error) {
	pool, err := pgxpool.New(ctx, c.dsn("lean")+"&pool_max_conns=16") // the product's number
	if err != nil {
		return "", nil, err
	}
	addr, end, err := servePlain(bookPostgres(pool))
	if err != nil {
		pool.Close()
		return "", nil, err
	}
	stop = func() { end(); pool.Close() }
	for _, n := range []int{16, 64, crowd} {
		l, err := drive(ctx, addr, n, b.span, reserving(1, 1000))
		if err != nil {
			stop()
			return "", nil, err
		}
		b.measured("reserve over 1000 slots", "plain handler", n, l)
		b.plot("plain handler, 1000 slots", n, l)
	}
	l, err := drive(ctx, addr, crowd, b.span, reserving(1, 1))
	if err != nil {
		stop()
		return "", nil, err
	}
	b.measured("reserve over 1 slots", "plain handler", crowd, l)
	return addr, stop, nil
}

// alone compares one client's wait, in turn at the plain handler and at the
// product, so that a drift of the machine's speed meets both alike. It returns
// how many reservations the product made.
func (b *bench) alone(ctx context.Context, p *product, plain string, first int) (reserved int, err error) {
	const rounds = 10
	var theirs, ours load
	for range rounds {
		l, err := drive(ctx, plain, 1, b.span/rounds*2, reserving(1, 1000))
		if err != nil {
			return reserved, err
		}
		theirs = merge(theirs, l)
		if l, err = drive(ctx, p.addr, 1, b.span/rounds*2, reserving(first, 1000)); err != nil {
			return reserved, err
		}
		ours = merge(ours, l)
	}
	b.measured("reserve over 1000 slots", "plain handler", 1, theirs)
	b.plot("plain handler, 1000 slots", 1, theirs)
	b.measured("reserve over 1000 slots", "slotkeeper", 1, ours)
	b.plot("slotkeeper, 1000 slots", 1, ours)
	b.compare("one client alone, median wait against the plain handler's", "at most 1.15",
		float64(ours.at(0.5))/float64(theirs.at(0.5)), false, 1.15, "%.2f times")
	return ours.answers[201], nil
}

func (b *bench) productPostgres(ctx context.Context, c *cluster, p *product, many, one load, plain string) error {
	first, err := p.publish(1001, 1_000_000)
	if err != nil {
		return err
	}
	reserved, err := b.alone(ctx, p, plain, first+1)
	if err != nil {
		return err
	}
	over := func(part string, first, slots, clients int) (load, error) {
		l, err := drive(ctx, p.addr, clients, b.span, reserving(first, slots))
		reserved += l.answers[201]
		return b.measured(part, "slotkeeper", clients, l), err
	}
	var thousand, single load
	for _, n := range []int{1, 16, 64, crowd} {
		if n > 1 { // one client has been seen above
			if thousand, err = over("reserve over 1000 slots", first+1, 1000, n); err != nil {
				return err
			}
			b.plot("slotkeeper, 1000 slots", n, thousand)
		}
		if single, err = over("reserve over 1 slots", first, 1, n); err != nil {
			return err
		}
		b.plot("slotkeeper, one slot", n, single)
	}
	b.compare("reserve over 1 000 slots, 256 clients, against the best pgbench", "at least 3", thousand.rate()/many.rate(), true, 3, "%.1f times")
	b.compare("reserve in one slot, 256 clients, against the best pgbench", "at least 25", single.rate()/one.rate(), true, 25, "%.1f times")
	if err := b.everyAnswerIsARow(ctx, c, p, reserved); err != nil {
		return err
	}
	l, err := drive(ctx, p.addr, crowd, b.span, mixed(first+1, 1000))
	if err != nil {
		return err
	}
	b.measured("60% reserve, 20% cancel, 20% read", "slotkeeper", crowd, l)
	if err := b.refusals(ctx, p); err != nil {
		return err
	}
	if err := p.check(ctx); err != nil {
		return err
	}
	return b.memory(ctx, p, first)
}

// everyAnswerIsARow holds the run to its word: every 201 is a row, no other is.
func (b *bench) everyAnswerIsARow(ctx context.Context, c *cluster, p *product, reserved int) error {
	rows, err := c.count(ctx, "product", "SELECT count(*) FROM reservations")
	if err != nil {
		return err
	}
	if rows != reserved {
		return fmt.Errorf("%d answers said 201 and %d rows are there", reserved, rows)
	}
	fmt.Printf("==> %d answers said 201, %d rows are there\n", reserved, rows)
	return p.check(ctx)
}

func (b *bench) refusals(ctx context.Context, p *product) error {
	full, err := p.publish(1, 1)
	if err != nil {
		return err
	}
	if status, err := call(p.addr, reserving(full, 1)(0, 0)); err != nil || status != 201 {
		return fmt.Errorf("the slot was not filled: %d %w", status, err)
	}
	live, err := drive(ctx, p.addr, crowd, b.span, fixed(without("GET", "/livez")))
	if err != nil {
		return err
	}
	b.measured("/livez", "slotkeeper", crowd, live)
	refused, err := drive(ctx, p.addr, crowd, b.span, reserving(full, 1))
	if err != nil {
		return err
	}
	b.measured("refusals of a full slot", "slotkeeper", crowd, refused)
	if refused.answers[409] != len(refused.waits) {
		return fmt.Errorf("a full slot answered %v", refused.answers)
	}
	b.compare("refusals of a full slot, against /livez", "at least 0.5", refused.rate()/live.rate(), true, 0.5, "%.2f times")
	return nil
}

func (b *bench) memory(ctx context.Context, p *product, first int) error {
	l, err := drive(ctx, p.addr, 1000, b.span, reserving(first, 1001))
	if err != nil {
		return err
	}
	b.measured("reserve over 1001 slots", "slotkeeper", 1000, l)
	if b.resident, err = p.resident(); err != nil {
		return err
	}
	b.compare("resident memory after 1 000 connections", "under 128 MiB", float64(b.resident)/(1<<20), false, 128, "%.0f MiB")
	return nil
}

func (b *bench) onSQLite(ctx context.Context, dir, binary string) error {
	db, err := openLeanSQLite(filepath.Join(dir, "lean.db"))
	if err != nil {
		return err
	}
	defer db.Close()
	addr, stop, err := servePlain(bookSQLite(db))
	if err != nil {
		return err
	}
	plain, err := drive(ctx, addr, crowd, b.span, reserving(1, 1000))
	stop()
	if err != nil {
		return err
	}
	b.measured("SQLite, reserve over 1000 slots", "plain handler", crowd, plain)
	p, err := startProduct(ctx, binary, "sqlite:"+filepath.Join(dir, "product.db"))
	if err != nil {
		return err
	}
	defer p.stop()
	first, err := p.publish(1000, 1_000_000)
	if err != nil {
		return err
	}
	l, err := drive(ctx, p.addr, crowd, b.span, reserving(first, 1000))
	if err != nil {
		return err
	}
	b.measured("SQLite, reserve over 1000 slots", "slotkeeper", crowd, l)
	b.compare("SQLite, 256 clients, synchronous=FULL, against the plain handler", "at least 10", l.rate()/plain.rate(), true, 10, "%.1f times")
	one, err := drive(ctx, p.addr, crowd, b.span, reserving(first, 1))
	if err != nil {
		return err
	}
	b.measured("SQLite, reserve over 1 slots", "slotkeeper", crowd, one)
	return p.check(ctx)
}

func (b *bench) plot(series string, clients int, l load) {
	b.rates[series] = append(b.rates[series], point{float64(clients), l.rate()})
}
