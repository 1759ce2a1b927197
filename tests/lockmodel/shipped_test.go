package lockmodel

import "testing"

// All pairs, under every reading of what the sources leave open, on three sets
// of data. Row versions change nothing here: every read is hinted.
// Seen red with: opJudge comparing with capacity+1; the index entry of a new row
// left unlocked; RangeS-U and U compatible with X in the matrix (the count then
// reads a DELETE that rolls back); a rollback that leaves the writes.
func TestTwoTransactionsNeverOversell(t *testing.T) {
	t.Parallel()
	var e explorer
	var n tally
	for _, d := range setups() {
		for _, v := range details() {
			drawn(everyone(), 2, func(ms ...maker) {
				r := e.explore(newModel(v, ms...), d)
				n.add(r)
				holds(t, &e, d, r)
			})
		}
	}
	n.log(t, "pairs")
}

// All threes, with the details at both ends.
// Seen red with: as for the pairs.
func TestThreeTransactionsNeverOversell(t *testing.T) {
	for _, d := range setups() {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			var e explorer
			var n tally
			for _, v := range extremes()[:2] {
				drawn(everyone(), 3, func(ms ...maker) {
					r := e.explore(newModel(v, ms...), d)
					n.add(r)
					holds(t, &e, d, r)
				})
			}
			n.log(t, "threes")
		})
	}
}

// The protocol would be safe, and useless, if it refused everybody. Where all
// insert into a slot with one place left, then the end is a full slot, always.
// Seen red with: opJudge comparing with capacity-1.
func TestTheLastPlaceIsTaken(t *testing.T) {
	t.Parallel()
	var e explorer
	for _, d := range []setup{oneFree(), empty()} {
		for _, v := range details() {
			drawn([]maker{reserve(0), plainInsert(0)}, 3, func(ms ...maker) {
				r := e.explore(newModel(v, ms...), d)
				holds(t, &e, d, r)
				for _, x := range r.ends {
					if x.rows[0] != d.capacity[0] {
						t.Fatalf("ends with %d of %d rows, outcomes %v", x.rows[0], d.capacity[0], x.outcomes)
					}
				}
			})
		}
	}
}

// The search merges a step that nobody else can see or prevent into the one
// before. Without that it must find the same ends.
// Seen red with: opCount, or opCommit, counted among the private steps.
func TestMergingStepsChangesNothing(t *testing.T) {
	t.Parallel()
	var e explorer
	for _, v := range []variant{{}, {slot: plain, count: plain, rcsi: true}, {slot: hold, count: upd},
		{slot: plain, count: upd, rcsi: true, fk: fkNone}} {
		drawn(everyone(), 2, func(ms ...maker) {
			v.oneByOne = false
			merged := e.explore(newModel(v, ms...), oneFree())
			v.oneByOne = true
			single := e.explore(newModel(v, ms...), oneFree())
			if !sameEnds(merged.ends, single.ends) || (merged.oversell < 0) != (single.oversell < 0) ||
				(merged.deadlock < 0) != (single.deadlock < 0) {
				t.Fatalf("%s and %s end differently", e.m.programs[0].name, e.m.programs[1].name)
			}
		})
	}
}

func sameEnds(a, b []end) bool {
	set := func(ends []end) map[end]bool {
		m := map[end]bool{}
		for _, x := range ends {
			m[x] = true
		}
		return m
	}
	x, y := set(a), set(b)
	for k := range x {
		if !y[k] {
			return false
		}
	}
	return len(x) == len(y)
}
