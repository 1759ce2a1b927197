package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"slotkeeper/app/importer"
)

// progress shows how far an import is: a bar on a terminal, lines elsewhere.
type progress struct {
	p          *program
	bar        *progressbar.ProgressBar // of the file under way, on a terminal
	last       importer.Progress
	shown      time.Time // when the last line was written
	tenths     int64     // how many tenths of the file the last line said
	brokenRows int
}

const (
	brokenShown = 20 // broken rows on stderr; all are among the rejects

	lineEvery  = 5 * time.Second // a line at least so often
	lineAtMost = time.Second     // and at most so often
)

func newProgress(p *program) *progress { return &progress{p: p, shown: time.Now()} }

// show is an importer.Job's Progress.
func (g *progress) show(now importer.Progress) {
	if now.File != g.last.File {
		g.endBar()
		g.tenths = 0
		if g.p.terminal != nil {
			g.bar = newBar(g.p.terminal, now)
		}
	}
	g.last = now
	if g.bar != nil {
		g.bar.Describe(fmt.Sprintf("%s %d rows", now.File, now.Rows))
		_ = g.bar.Set64(now.Read) // a terminal that is gone must not end an import
		return
	}
	tenths := 10 * now.Read / max(1, now.Size)
	since := time.Since(g.shown)
	if since >= lineEvery || tenths > g.tenths && since >= lineAtMost {
		g.shown, g.tenths = time.Now(), tenths
		fmt.Fprintf(g.p.stderr, "%s: %d rows, %d %%\n", now.File, now.Rows, 100*now.Read/max(1, now.Size))
	}
}

func newBar(w io.Writer, now importer.Progress) *progressbar.ProgressBar {
	return progressbar.NewOptions64(max(1, now.Size), progressbar.OptionSetWriter(w),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetWidth(30), progressbar.OptionOnCompletion(func() { fmt.Fprintln(w) }))
}

// broken names a broken row, between two states of the bar.
func (g *progress) broken(r importer.Reject) {
	if g.brokenRows++; g.brokenRows > brokenShown {
		return
	}
	if g.bar != nil {
		_ = g.bar.Clear() // as in show
	}
	fmt.Fprintln(g.p.stderr, r)
}

// end ends what is shown, when the import is done or was stopped.
func (g *progress) end() {
	g.endBar()
	if left := g.brokenRows - brokenShown; left > 0 {
		fmt.Fprintf(g.p.stderr, "%d more broken rows are among the rejects\n", left)
	}
}

// endBar closes the bar of the file before.
func (g *progress) endBar() {
	if g.bar == nil {
		return
	}
	if !g.bar.IsFinished() {
		_ = g.bar.Exit()
		fmt.Fprintln(g.p.stderr)
	}
	g.bar = nil
}
