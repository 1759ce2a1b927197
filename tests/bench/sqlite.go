//go:build linux

package main

import (
	"context"
	"fmt"
	"path/filepath"
)

func (b *bench) onSQLite(ctx context.Context, dir, binary string) error {
	db, err := openLeanSQLite(filepath.Join(dir, "lean.db"))
	if err != nil {
		return err
	}
	defer db.Close()
	addr, stop, err := servePlain(plainSQLite{db})
	if err != nil {
		return err
	}
	defer stop()
	p, err := startProduct(ctx, binary, "sqlite:"+filepath.Join(dir, "product.db"))
	if err != nil {
		return err
	}
	defer p.stop()
	first, err := p.publish(1000, 1_000_000)
	if err != nil {
		return err
	}
	for _, slots := range []int{1000, 1} {
		plain, ours, err := b.duel(at(ctx, addr, crowd, reserving(1, slots)), at(ctx, p.addr, crowd, reserving(first, slots)))
		if err != nil {
			return err
		}
		what := fmt.Sprintf("SQLite, reserve over %d slots", slots)
		b.measured(what, "plain handler", crowd, plain)
		b.measured(what, "slotkeeper", crowd, ours)
		b.compare(what+", 256 clients, synchronous=FULL, against the plain handler", "at least 10", ours.rate()/plain.rate(), true, 10, "%.1f times")
	}
	return p.check(ctx)
}
