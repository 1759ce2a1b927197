package lockmodel

import "testing"

// A model that cannot fail proves nothing. Each rule is broken once, and the
// tests' own questions must then find the damage.
// Seen red with: newModel ignoring variant.rules.
func TestBrokenRules(t *testing.T) {
	t.Parallel()
	together := func(pairs ...[2]mode) *matrix {
		rules := documented()
		for _, p := range pairs {
			rules[p[0]][p[1]], rules[p[1]][p[0]] = true, true
		}
		return &rules
	}
	oversells := func(r result) bool { return r.oversold >= 0 }
	for _, c := range []struct {
		name   string
		v      variant
		d      setup
		ms     []maker
		damage func(result) bool
	}{
		{"an insert passes a counted gap, which alone was on guard",
			variant{slot: plain, rcsi: true, fk: fkNone, rules: together([2]mode{rangeIN, rangeSU}, [2]mode{rangeIN, rangeXX})},
			oneFree(), []maker{plainInsert(0), edit(false, 0, 1)}, oversells},
		{"an insert passes a gap read under HOLDLOCK",
			variant{count: hold, rules: together([2]mode{rangeIN, rangeSS})},
			empty(), []maker{lookThenInsert(0), lookThenInsert(0)}, oversells},
		{"two hold the slot",
			variant{rules: together([2]mode{modeU, modeU})},
			oneFree(), []maker{reserve(0), reserve(0)}, func(r result) bool { return r.adapters >= 0 }},
		{"a count reads rows in flight",
			variant{rules: together([2]mode{rangeSU, modeX})},
			full(), []maker{deleteRow(rowA, 0, true, true), plainInsert(0)}, oversells},
		{"a count of rows in flight refuses for no reason",
			variant{rules: together([2]mode{rangeSU, modeX})},
			oneFree(), []maker{plainInsert(0), plainInsert(0)}, func(r result) bool { return r.lie >= 0 }},
		{"any victim will do",
			variant{anyVictim: true},
			oneFree(), []maker{reserve(0), plainInsert(0)}, func(r result) bool { return r.wrongPick >= 0 }},
	} {
		var e explorer
		if r := e.explore(newModel(c.v, c.ms...), c.d); !c.damage(r) {
			t.Errorf("%s: nothing noticed: %+v", c.name, r)
		}
		c.v.rules, c.v.anyVictim = nil, false
		if r := e.explore(newModel(c.v, c.ms...), c.d); c.damage(r) {
			t.Errorf("%s: found with the rules whole, too", c.name)
		}
	}
}
