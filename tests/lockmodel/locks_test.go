package lockmodel

import "testing"

// Who came first cannot matter for whether two locks can be held together.
// Seen red with: one "y" of the RangeS-U row flipped.
func TestMatrixIsSymmetric(t *testing.T) {
	rules := documented()
	for a := none; a < modeCount; a++ {
		for b := none; b < modeCount; b++ {
			if rules[a][b] != rules[b][a] {
				t.Errorf("%v asked for under %v: %v, the other way round: %v", a, b, rules[a][b], rules[b][a])
			}
		}
	}
}

// The lines of the matrix on which the protocol rests, once more in words.
// Seen red with: rangeSU made compatible with rangeIN in the matrix.
func TestMatrixGuardsGapAndKey(t *testing.T) {
	rules := documented()
	for _, c := range []struct {
		requested, granted mode
		together           bool
		why                string
	}{
		{rangeIN, rangeSU, false, "an insert into a counted gap waits"},
		{rangeIN, rangeSS, false, "an insert into a gap read under HOLDLOCK waits"},
		{rangeIN, rangeXX, false, "an insert beside a key that was inserted, then counted, waits"},
		{rangeIN, modeU, true, "U without a range does not guard the gap"},
		{rangeIN, modeX, true, "nor does X"},
		{rangeIN, rangeIN, true, "two inserts into one gap get along"},
		{rangeSU, modeX, false, "a count waits for a row in flight"},
		{rangeSU, rangeSU, false, "two counts under UPDLOCK wait for each other"},
		{rangeSS, rangeSS, true, "two counts under HOLDLOCK alone do not"},
		{modeU, modeU, false, "one holder of the slot"},
		{modeS, modeU, true, "a foreign key's check passes a locked slot"},
		{modeS, modeX, false, "but not one being edited"},
	} {
		if rules[c.requested][c.granted] != c.together {
			t.Errorf("%v under %v: want %v: %s", c.requested, c.granted, c.together, c.why)
		}
	}
}

// A converted lock keeps out whatever either lock keeps out.
// Seen red with: convert returning the larger of the two modes (U and RangeS-S
// then make RangeS-S, which lets a second U in).
func TestConversionLosesNothing(t *testing.T) {
	rules := documented()
	for a := none; a < rangeIN; a++ {
		for b := none; b < rangeIN; b++ {
			c := convert(a, b)
			if c != convert(b, a) || !covers(c, a) || !covers(c, b) {
				t.Errorf("%v and %v make %v", a, b, c)
			}
			for other := none; other < modeCount; other++ {
				if rules[other][c] && (!rules[other][a] || !rules[other][b]) {
					t.Errorf("%v and %v make %v, which lets %v in", a, b, c, other)
				}
			}
		}
	}
}
