package lockmodel

import "testing"

// adapters and foreigners are the transactions that the tests draw from.
func adapters() []maker {
	return []maker{reserve(0), reserve(1), reserveAll(0, 2), reserveSweep, cancel(rowA, 0), edit(true, 0, 1), sweep(rowA, 0)}
}

func foreigners() []maker {
	return []maker{
		plainInsert(0), plainInsert(1), twoRows(0, 1), twoRows(1, 0),
		deleteRow(rowA, 0, false, false), deleteRow(rowA, 0, true, true),
		edit(false, 0, 1), move(rowA, 0, 1), move(rowB, 1, 0),
	}
}

func everyone() []maker { return append(adapters(), foreigners()...) }

// oneFree has one free place in each slot; empty has one place and no rows, so
// that the only key of the index is its end; full has slot 1 full.
func oneFree() setup {
	return setup{capacity: [numSlots]uint8{2, 2, 1}, rowA: true, rowB: true}
}
func empty() setup { return setup{capacity: [numSlots]uint8{1, 1, 1}} }
func full() setup  { return setup{capacity: [numSlots]uint8{1, 2, 1}, rowA: true} }

// apart has a row on either side of an empty slot 2.
func apart() setup { return setup{capacity: [numSlots]uint8{2, 2, 2}, rowA: true, farB: true} }

func setups() []setup { return []setup{oneFree(), empty(), full()} }

// drawn calls f with each way to draw n of the list, repetition allowed, order
// not: the interleavings bring every order.
func drawn(list []maker, n int, f func(...maker)) {
	var draw func(from int, chosen []maker)
	draw = func(from int, chosen []maker) {
		if len(chosen) == n {
			f(chosen...)
			return
		}
		for i := from; i < len(list); i++ {
			draw(i, append(chosen[:len(chosen):len(chosen)], list[i]))
		}
	}
	draw(0, nil)
}

// tally sums up explorations.
type tally struct {
	runs, states, deadlocked int
	schedules                float64
}

func (n *tally) add(r result) {
	n.runs++
	n.states += r.states
	n.schedules += r.schedules
	if r.deadlock >= 0 {
		n.deadlocked++
	}
}

func (n *tally) log(t *testing.T, what string) {
	t.Helper()
	t.Logf("%s: %d runs, %d states, %.3g interleavings, deadlocks possible in %d runs",
		what, n.runs, n.states, n.schedules, n.deadlocked)
}

// must fails with a trace if the exploration met what it must not.
func must(t *testing.T, e *explorer, d setup, what string, found int32) {
	t.Helper()
	if found >= 0 {
		t.Fatalf("%s with %+v:\n%s", what, e.m.variant, e.trace(d, found))
	}
}

// holds checks what the protocol promises whoever takes part.
func holds(t *testing.T, e *explorer, d setup, r result) {
	t.Helper()
	must(t, e, d, "oversold", r.oversell)
	must(t, e, d, "refused although there was room", r.lie)
	must(t, e, d, "nobody can go on", r.stuck)
	must(t, e, d, "all were rolled back as deadlock victims", r.starved)
	must(t, e, d, "a foreign writer is the victim of an adapter", r.wrongPick)
}

// details are the things that the sources leave open, in every combination.
func details() []variant {
	return append(append(detailsWith(fkShort), detailsWith(fkHeld)...), detailsWith(fkNone)...)
}

func detailsWith(fk foreignKey) []variant {
	var all []variant
	for bits := 0; bits < 8; bits++ {
		all = append(all, variant{fk: fk, lookup: bits&1 != 0, keepGhosts: bits&2 != 0, queue: bits&4 != 0})
	}
	return all
}

// extremes are the details at both ends, and with queues, for what is too big
// for all of them. Each detail alone is tried with the pairs.
func extremes() []variant {
	return []variant{{}, {fk: fkHeld, lookup: true, keepGhosts: true}, {fk: fkHeld, lookup: true, keepGhosts: true, queue: true}}
}
