package hostile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"slotkeeper/tests/served"

	"github.com/stretchr/testify/require"
)

// all is the table, each name unique. What reserves does so anew in each round.
func all(round int) []hostile {
	return slices.Concat(bodies(), numbers(round), times(), texts(round), lengths(round), chunks(round), smuggled(round),
		lines(), targets(), queries(), headers(), injections(round))
}

// None of it is answered with a failure, shows what is inside, harms the data,
// writes a line of the log or leaves anything behind.
// Seen red with: misread answering "" (NULs, folded headers and a second request
// were answered); isText always true (a NUL in a query was a 500 on Postgres);
// the path printed to stderr instead of logged with slog; connections not closed.
func TestHostile(t *testing.T) {
	everywhere(t, func(d *desk) {
		d.gauge("go_goroutines") // the connection that later looks use
		goroutines, files := d.gauge("go_goroutines"), d.gauge("process_open_fds")
		rounds := served.Pick(1, 3)
		figures := map[string]*figure{}
		for round := range rounds {
			d.round(all(round), figures)
			if d.Failed() {
				return
			}
		}
		d.unharmed()
		d.settles(goroutines, files, 3*crowd)
		kinds := slices.Sorted(maps.Keys(figures))
		total := 0
		for _, kind := range kinds {
			total += figures[kind].sent
			served.Figures(d.T, "%-10s %4d sent: %s", kind, figures[kind].sent, figures[kind])
		}
		served.Figures(d.T, "%d hostile requests of %d kinds, %d rounds: %d answers as wanted, 0 of 5xx, %d slots made, canary unharmed",
			total, len(kinds), rounds, d.answers.Load(), d.made.Load())
	})
}

// crowd is how many are sent at once. A connection whose end the server still
// waits for counts beyond that.
const crowd = 16

// figure counts what became of one kind.
type figure struct {
	sent int
	came map[string]int
}

func (f *figure) String() string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(f.came)) {
		parts = append(parts, fmt.Sprintf("%d× %s", f.came[kind], kind))
	}
	return strings.Join(parts, ", ")
}

// round sends the whole table, some at a time, and counts it in figures.
func (d *desk) round(table []hostile, figures map[string]*figure) {
	var (
		mu   sync.Mutex
		done sync.WaitGroup
		gate = make(chan struct{}, crowd)
		seen = map[string]bool{}
	)
	for _, h := range table {
		require.False(d, seen[h.kind+h.name], "%s %s stands twice", h.kind, h.name)
		seen[h.kind+h.name] = true
		gate <- struct{}{}
		done.Go(func() {
			defer func() { <-gate }()
			err := d.send(h)
			mu.Lock()
			defer mu.Unlock()
			f := figures[h.kind]
			if f == nil {
				f = &figure{came: map[string]int{}}
				figures[h.kind] = f
			}
			f.sent++
			f.came[strings.Join(h.want, ", ")]++
			if err != nil {
				d.Errorf("%s, %s: %v\n%.300q", h.kind, h.name, err, h.raw)
			}
		})
	}
	done.Wait()
}
