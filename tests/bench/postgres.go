//go:build linux

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// rivals are those whom the product is measured against on one server.
type rivals struct {
	server    *postgres
	many, one pgbenchRun // pgbench at its best over 1 000 slots, and on one
	plain     string     // the plain handler's address
}

func (b *bench) onPostgres(ctx context.Context, _, binary string) error {
	c, err := startPostgres(ctx)
	if err != nil {
		return err
	}
	defer c.stop()
	r := rivals{server: c}
	if err := c.create(ctx, "lean", leanSchema...); err != nil {
		return err
	}
	if r.many, err = b.pgbench(ctx, c, 1000); err != nil {
		return err
	}
	if r.one, err = b.pgbench(ctx, c, 1); err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, c.DSN("lean")+"&pool_max_conns=16") // the product's number
	if err != nil {
		return err
	}
	defer pool.Close()
	var stop func()
	if r.plain, stop, err = servePlain(plainPostgres{pool}); err != nil {
		return err
	}
	defer stop()
	if err := c.create(ctx, "product"); err != nil {
		return err
	}
	p, err := startProduct(ctx, binary, c.DSN("product"))
	if err != nil {
		return err
	}
	defer p.stop()
	first, err := p.publish(1001, 1_000_000)
	if err != nil {
		return err
	}
	for _, part := range []func(context.Context, rivals, *product, int) error{b.reserve, b.mixed, b.refusals, b.memory} {
		if err := part(ctx, r, p, first); err != nil {
			return err
		}
	}
	return p.check(ctx)
}

// reserve measures reserving alone, over a thousand slots from first+1 on and
// in the slot first.
func (b *bench) reserve(ctx context.Context, r rivals, p *product, first int) error {
	reserved := 0
	ours := func(clients int, next requester) func(time.Duration) (load, error) {
		return func(span time.Duration) (load, error) {
			l, err := drive(ctx, p.addr, clients, span, next)
			reserved += l.answers[201]
			return l, err
		}
	}
	pgbench := func(run pgbenchRun) func(time.Duration) (load, error) {
		return func(span time.Duration) (load, error) { return b.pgbenchOnce(ctx, r.server, run, span) }
	}
	for _, slots := range []int{1000, 1} {
		what, at0, best, goal := "reserve over 1000 slots", first+1, r.many, 3.0
		if slots == 1 {
			what, at0, best, goal = "reserve over 1 slots", first, r.one, 25
		}
		for _, n := range []int{1, 16, 64} {
			plain, we, err := b.duel(at(ctx, r.plain, n, reserving(1, slots)), ours(n, reserving(at0, slots)))
			if err != nil {
				return err
			}
			b.rival(what, n, slots, plain, we)
			if n == 1 && slots > 1 {
				b.compare("one client alone, median wait against the plain handler's", "at most 1.15",
					float64(we.at(0.5))/float64(plain.at(0.5)), false, 1.15, "%.2f times")
			}
		}
		plain, err := at(ctx, r.plain, crowd, reserving(1, slots))(b.span)
		if err != nil {
			return err
		}
		theirs, we, err := b.duel(pgbench(best), ours(crowd, reserving(at0, slots)))
		if err != nil {
			return err
		}
		b.rival(what, crowd, slots, plain, we)
		b.measured(what, "pgbench at its best, again", best.clients, theirs)
		b.compare(fmt.Sprintf("%s, 256 clients, against pgbench at its best (%d clients)", what, best.clients),
			fmt.Sprintf("at least %.0f", goal), we.rate()/theirs.rate(), true, goal, "%.1f times")
		b.compare(what+", 256 clients, against pgbench with 256 clients", "", we.rate()/b.crowded[slots], true, 0, "%.1f times")
	}
	if err := b.slowCommits(ctx, r, pgbench(r.one), ours(crowd, reserving(first, 1))); err != nil {
		return err
	}
	return b.everyAnswerIsARow(ctx, r.server, p, reserved)
}

// slowCommit is what a commit takes longer on a disk behind a network.
const slowCommit = 2 * time.Millisecond

// slowCommits measures reserving in one slot where each commit takes longer:
// commit_delay has Postgres sleep before it flushes its log, whoever commits.
func (b *bench) slowCommits(ctx context.Context, r rivals, pgbench, ours func(time.Duration) (load, error)) error {
	if err := r.server.exec(ctx, "postgres", "ALTER SYSTEM SET commit_siblings = 0",
		fmt.Sprintf("ALTER SYSTEM SET commit_delay = %d", slowCommit.Microseconds()), "SELECT pg_reload_conf()"); err != nil {
		return err
	}
	theirs, we, err := b.duel(pgbench, ours)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("reserve over 1 slots, each commit %s slower", brief(slowCommit))
	b.measured(what, "pgbench, "+r.one.name, r.one.clients, theirs)
	b.measured(what, "slotkeeper", crowd, we)
	b.compare(fmt.Sprintf("%s, 256 clients, against pgbench (%d clients)", what, r.one.clients), "", we.rate()/theirs.rate(), true, 0, "%.1f times")
	return r.server.exec(ctx, "postgres", "ALTER SYSTEM RESET commit_siblings", "ALTER SYSTEM RESET commit_delay", "SELECT pg_reload_conf()")
}

// rival keeps what the plain handler and the product made of the same.
func (b *bench) rival(what string, clients, slots int, plain, ours load) {
	where := "1000 slots"
	if slots == 1 {
		where = "one slot"
	}
	b.measured(what, "plain handler", clients, plain)
	b.plot("plain handler, "+where, clients, plain)
	b.measured(what, "slotkeeper", clients, ours)
	b.plot("slotkeeper, "+where, clients, ours)
}

// everyAnswerIsARow holds the run to its word: every 201 is a row, no other is.
func (b *bench) everyAnswerIsARow(ctx context.Context, c *postgres, p *product, reserved int) error {
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

func (b *bench) mixed(ctx context.Context, r rivals, p *product, first int) error {
	for _, slots := range []int{1000, 1} {
		what, at0 := "60% reserve, 20% cancel, 20% read, 1000 slots", first+1
		if slots == 1 {
			what, at0 = "60% reserve, 20% cancel, 20% read, 1 slot", first
		}
		plain, ours, err := b.duel(at(ctx, r.plain, crowd, mixing(1, slots)), at(ctx, p.addr, crowd, mixing(at0, slots)))
		if err != nil {
			return err
		}
		b.measured(what, "plain handler", crowd, plain)
		b.measured(what, "slotkeeper", crowd, ours)
		b.compare(what+", against the plain handler", "", ours.rate()/plain.rate(), true, 0, "%.1f times")
	}
	return p.check(ctx)
}

func (b *bench) refusals(ctx context.Context, r rivals, p *product, _ int) error {
	full, err := p.publish(1, 1)
	if err != nil {
		return err
	}
	if status, err := call(p.addr, reserving(full, 1)(0, 0)); err != nil || status != 201 {
		return fmt.Errorf("the slot was not filled: %d %w", status, err)
	}
	live, refused, err := b.duel(at(ctx, p.addr, crowd, fixed(without("GET", "/livez"))), at(ctx, p.addr, crowd, reserving(full, 1)))
	if err != nil {
		return err
	}
	if err := only(409, refused); err != nil {
		return err
	}
	plain, err := drive(ctx, r.plain, crowd, b.span, reserving(leanFull, 1))
	if err != nil {
		return err
	}
	if err := only(409, plain); err != nil {
		return err
	}
	b.measured("/livez", "slotkeeper", crowd, live)
	b.measured("refusals of a full slot", "plain handler", crowd, plain)
	b.measured("refusals of a full slot", "slotkeeper", crowd, refused)
	b.compare("refusals of a full slot, against /livez", "at least 0.5", refused.rate()/live.rate(), true, 0.5, "%.2f times")
	return nil
}

func (b *bench) memory(ctx context.Context, _ rivals, p *product, first int) error {
	l, err := drive(ctx, p.addr, 1000, b.span, reserving(first, 1001))
	if err != nil {
		return err
	}
	b.measured("reserve over 1001 slots", "slotkeeper", 1000, l)
	resident, err := p.resident()
	if err != nil {
		return err
	}
	b.compare("resident memory after 1 000 connections", "under 128 MiB", float64(resident)/(1<<20), false, 128, "%.0f MiB")
	return nil
}
