//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// write writes benchmarks.md and its plots into dir.
func (b *bench) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := b.plotRates(filepath.Join(dir, "benchmarks-rate.svg")); err != nil {
		return err
	}
	if err := b.plotCosts(filepath.Join(dir, "benchmarks-cost.svg")); err != nil {
		return err
	}
	var w bytes.Buffer
	fmt.Fprintf(&w, "# Benchmarks\n\nWritten by `make bench`; do not edit. One run of %s on %s: %s, %d cores, %s, %s.\n",
		b.started.UTC().Format("2006-01-02"), runtime.GOOS, processor(), runtime.NumCPU(), runtime.Version(), postgresVersion())
	w.WriteString(`
The clients, the program and the database share those cores, and everything is
on loopback. The durability is the same for all: fsync and synchronous_commit
on, SQLite with synchronous=FULL, and an answer comes after its row is on the
disk. Quote the ratios; the rates are this machine's.

After the Postgres loads the run counted the rows: every 201 is one, no other
is, and ` + "`slotkeeper check`" + ` found nothing.

## Ratios

| what | goal | figure | reached |
| --- | --- | --- | --- |
`)
	for _, r := range b.ratios {
		reached := ""
		if r.goal != "" {
			reached = map[bool]string{true: "yes", false: "**no**"}[r.met]
		}
		fmt.Fprintf(&w, "| %s | %s | **%s** | %s |\n", r.what, r.goal, r.figure, reached)
	}
	w.WriteString("\n![Requests a second against clients](benchmarks-rate.svg)\n\n![Cost of a reservation against capacity](benchmarks-cost.svg)\n")
	w.WriteString("\n## All measurements\n\n| what | who | clients | a second | p50 | p95 | p99 |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, r := range b.results {
		fmt.Fprintf(&w, "| %s | %s | %d | %.0f | %s | %s | %s |\n", r.part, r.subject, r.clients, r.load.rate(),
			brief(r.load.at(0.50)), brief(r.load.at(0.95)), brief(r.load.at(0.99)))
	}
	w.WriteString(`
## What is compared

- **pgbench** books in a lean schema (a counter under a CHECK and a key, no
  triggers), by one call of a server-side function and by four statements; the
  best rate of 4, 8, 16, 32, 64 and 256 clients counts.
- **The plain handler** is a fiber handler over the same drivers and as many
  connections: lock the slot's row, look, insert, count, commit. It is right,
  and it runs one transaction a request.
- **slotkeeper** is the program with its defaults.
- **each commit 2.0 ms slower** is Postgres with ` + "`commit_delay`" + ` of 2000 and
  ` + "`commit_siblings`" + ` of 0, for those who compare: what a disk behind a network does.

Those that are compared take turns, several times, so that a drift of the
machine's speed meets both alike; their rates are over all their turns.
`)
	return os.WriteFile(filepath.Join(dir, "benchmarks.md"), w.Bytes(), 0o644)
}

func (b *bench) plotRates(path string) error {
	p := plot.New()
	p.Title.Text = "Reservations a second against clients"
	p.X.Label.Text, p.Y.Label.Text = "clients", "a second"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.ConstantTicks([]plot.Tick{{Value: 1, Label: "1"}, {Value: 16, Label: "16"}, {Value: 64, Label: "64"}, {Value: crowd, Label: "256"}})
	p.Y.Min = 0
	p.Legend.Top, p.Legend.Left = true, true
	var lines []any
	for _, name := range slices.Sorted(maps.Keys(b.rates)) {
		lines = append(lines, name, points(b.rates[name]))
	}
	if err := plotutil.AddLinePoints(p, lines...); err != nil {
		return err
	}
	return p.Save(16*vg.Centimeter, 10*vg.Centimeter, path)
}

func (b *bench) plotCosts(path string) error {
	p := plot.New()
	p.Title.Text = "Median wait of a reservation or cancellation in a nearly full slot"
	p.X.Label.Text, p.Y.Label.Text = "capacity", "microseconds"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{}
	p.Y.Min = 0
	if err := plotutil.AddLinePoints(p, points(b.costs)); err != nil {
		return err
	}
	return p.Save(16*vg.Centimeter, 8*vg.Centimeter, path)
}

func points(ps []point) plotter.XYs {
	xys := make(plotter.XYs, len(ps))
	for i, p := range ps {
		xys[i].X, xys[i].Y = p.x, p.y
	}
	return xys
}

// merge adds up what was seen in several rounds.
func merge(a, b load) load {
	a.took += b.took
	if a.answers == nil {
		a.answers = map[int]int{}
	}
	for status, n := range b.answers {
		a.answers[status] += n
	}
	a.waits = append(slices.Clone(a.waits), b.waits...)
	slices.Sort(a.waits)
	return a
}

func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, ok := strings.CutPrefix(s.Text(), "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
	}
	return runtime.GOARCH
}

func postgresVersion() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) == 0 {
		return "no Postgres"
	}
	out, _ := exec.Command(found[len(found)-1], "--version").Output()
	return strings.TrimSpace(strings.TrimPrefix(string(out), "postgres "))
}
