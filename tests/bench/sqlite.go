//go:build linux

package main

import (
	"context"
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
	plain, ours, err := b.duel(at(ctx, addr, crowd, reserving(1, 1000)), at(ctx, p.addr, crowd, reserving(first, 1000)))
	if err != nil {
		return err
	}
	b.measured("SQLite, reserve over 1000 slots", "plain handler", crowd, plain)
	b.measured("SQLite, reserve over 1000 slots", "slotkeeper", crowd, ours)
	b.compare("SQLite, 256 clients, synchronous=FULL, against the plain handler", "at least 10", ours.rate()/plain.rate(), true, 10, "%.1f times")
	one, err := drive(ctx, p.addr, crowd, b.span, reserving(first, 1))
	if err != nil {
		return err
	}
	b.measured("SQLite, reserve over 1 slots", "slotkeeper", crowd, one)
	return p.check(ctx)
}
