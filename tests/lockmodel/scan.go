package lockmodel

// rowMode is the lock that a count with this hint takes on a key.
func rowMode(h hint) mode {
	switch h {
	case updHold:
		return rangeSU
	case hold:
		return rangeSS
	case plain:
		return modeS
	default:
		return modeU
	}
}

// nextCounted returns the lock for the next key of the count that runs: each key
// of the slot and, under HOLDLOCK, the one behind, which guards the last gap.
func (m *model) nextCounted(s *state, x *txState, o *op) request {
	if m.snapshot(o) || o.hint == readPast || o.hint == dirty {
		return request{}
	}
	k, inside := position(s, x, o)
	want := rowMode(o.hint)
	ranged := want == rangeSU || want == rangeSS
	switch {
	case x.lookup:
		return request{rowKey(k % numRows), keyPart(want), o.hint != plain}
	case inside || ranged:
		return request{entryKey(k), want, o.hint != plain}
	default:
		return request{}
	}
}

// snapshot reports whether the count reads row versions instead of locking.
func (m *model) snapshot(o *op) bool { return m.rcsi && o.hint == plain || o.hint == past }

// version is such a count: one moment, and t's own writes.
func (m *model) version(s *state, t int, o *op) uint8 {
	if o.hint == past {
		return s.asBegun(t, o.slot)
	}
	return s.visible(t, o.slot)
}

// position is the key that the count looks at next, and whether it is the slot's.
func position(s *state, x *txState, o *op) (uint8, bool) {
	from := entry(o.slot, 0)
	switch {
	case x.lookup:
		return x.at - 1, true
	case x.at != 0:
		from = x.at
	}
	k := s.next(from)
	return k, k < entry(o.slot+1, 0)
}

// count goes one key further.
func (m *model) count(s *state, t int, o *op, q request) {
	x := &s.tx[t]
	if m.snapshot(o) {
		x.counted[o.slot] = m.version(s, t, o)
		x.pc++
		return
	}
	if x.at == 0 {
		x.counted[o.slot] = 0
	}
	k, inside := position(s, x, o)
	if !inside {
		x.at, x.pc = 0, x.pc+1
		return
	}
	live := s.live(k)
	if o.hint == readPast {
		if m.blockers(s, t, request{entryKey(k), modeU, true}) != 0 {
			live = false // skipped, though it may be as live as ever
		} else {
			s.take(t, entryKey(k), modeU)
		}
	}
	if m.lookup && live && !x.lookup && o.hint != readPast && o.hint != dirty {
		x.at, x.lookup = k+1, true
		return
	}
	if live {
		x.counted[o.slot]++
	}
	x.at, x.lookup = k+1, false
}
