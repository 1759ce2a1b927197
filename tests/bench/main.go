//go:build linux

// Command bench measures, side by side in one run on one machine, what a
// booking costs: pgbench on a lean schema, a plain handler that runs one
// transaction a request, and the product, over HTTP on loopback with the same
// durability. It prints its tables and writes docs/benchmarks.md with plots.
//
// The figures to quote are the ratios of one run; a machine's own speed is in
// every one of them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	seconds := flag.Float64("seconds", 5, "length of each measurement")
	out := flag.String("out", "docs", "folder for benchmarks.md and its plots; empty writes none")
	only := flag.String("only", "", "run one part alone: postgres, sqlite or cost")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := &bench{span: time.Duration(*seconds * float64(time.Second))}
	if err := b.run(ctx, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if *out != "" {
		if err := b.write(*out); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
	}
}

// bench holds what the run has measured.
type bench struct {
	span    time.Duration
	started time.Time
	results []result
	ratios  []ratio
	rates   map[string][]point // by series: requests a second against clients
	costs   []point            // microseconds a reservation against capacity
	crowded map[int]float64    // pgbench's best rate with 256 clients, by number of slots
}

// result is one measurement.
type result struct {
	part    string // what was asked of it
	subject string // who did it
	clients int
	load    load
}

// ratio is one line of the goals' table.
type ratio struct {
	what, goal string
	figure     string
	met        bool
}

type point struct{ x, y float64 }

func (b *bench) run(ctx context.Context, only string) error {
	b.started = time.Now()
	b.rates, b.crowded = map[string][]point{}, map[int]float64{}
	dir, err := os.MkdirTemp("", "slotkeeper-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := buildProduct(ctx, dir)
	if err != nil {
		return err
	}
	parts := map[string]func(context.Context, string, string) error{
		"postgres": b.onPostgres, "sqlite": b.onSQLite, "cost": b.costOfSize,
	}
	for _, name := range []string{"postgres", "sqlite", "cost"} {
		if only != "" && only != name {
			continue
		}
		if err := parts[name](ctx, dir, binary); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// measured keeps and prints one measurement.
func (b *bench) measured(part, subject string, clients int, l load) load {
	b.results = append(b.results, result{part, subject, clients, l})
	fmt.Printf("%-34s %-34s %4d clients %9.0f/s  p50 %7s  p95 %7s  p99 %7s\n",
		part, subject, clients, l.rate(), brief(l.at(0.50)), brief(l.at(0.95)), brief(l.at(0.99)))
	return l
}

func (b *bench) compare(what, goal string, figure float64, least bool, bound float64, format string) {
	met := figure >= bound
	if !least {
		met = figure <= bound
	}
	b.ratios = append(b.ratios, ratio{what, goal, fmt.Sprintf(format, figure), met})
	fmt.Printf("==> %s: %s (goal: %s)\n", what, fmt.Sprintf(format, figure), goal)
}
