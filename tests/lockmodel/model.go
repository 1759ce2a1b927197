package lockmodel

// model runs a set of programs under one variant.
type model struct {
	variant
	programs []program
	rules    matrix
	log      func(tx int, line string) // nil but when a trace is written
}

func newModel(v variant, makers ...maker) *model {
	m := &model{variant: v, rules: documented()}
	if v.rules != nil {
		m.rules = *v.rules
	}
	for t, mk := range makers {
		m.programs = append(m.programs, mk(&m.variant, t))
	}
	return m
}

// request is the lock that a transaction needs for its next step. A step that
// needs none asks for mode none.
type request struct {
	on   resource
	mode mode
	keep bool
}

// next returns what t's next step asks for.
func (m *model) next(s *state, t int) request {
	x := &s.tx[t]
	if x.refusing {
		return request{}
	}
	o := &m.programs[t].ops[x.pc]
	switch o.kind {
	case opSlot:
		return request{slotKey(o.slot), m.slotMode(o.hint), o.hint != plain}
	case opCount:
		return m.nextCounted(s, x, o)
	case opInsert:
		k := entry(o.slot, o.row)
		if s.present&(1<<k) != 0 { // over a ghost of the same key
			return request{entryKey(k), modeX, true}
		}
		return request{entryKey(s.next(k)), rangeIN, false}
	case opFK:
		return request{slotKey(o.slot), modeS, m.fk == fkHeld}
	case opFind:
		k := entry(o.slot, o.row)
		if s.present&(1<<k) == 0 {
			return request{}
		}
		return request{entryKey(k), modeU, true}
	case opWrite:
		return request{rowKey(o.row), modeX, true}
	case opUnindex:
		return request{entryKey(entry(o.slot, o.row)), modeX, true}
	case opCapacity:
		return request{slotKey(o.slot), modeX, true}
	default:
		return request{}
	}
}

func (m *model) slotMode(h hint) mode {
	switch {
	case h == updHold, h == upd:
		return modeU
	case h == plain && m.rcsi:
		return none
	default:
		return modeS
	}
}

// step does t's next step, whose lock is free for it, and then everything that
// touches nothing another transaction could see or prevent.
func (m *model) step(s *state, t int) {
	m.begin(s, t)
	m.do(s, t, m.next(s, t))
	for !m.oneByOne && s.tx[t].outcome == running && m.private(s, t) {
		m.do(s, t, m.next(s, t))
	}
}

// begin fixes what a transaction under SNAPSHOT sees. Others are spared it, to
// keep their states few.
func (m *model) begin(s *state, t int) {
	x := &s.tx[t]
	if x.begun || m.variant.count != past {
		return
	}
	x.begun = true
	for _, r := range s.rows {
		if r.committed < numSlots {
			x.atBegin[r.committed]++
		}
	}
}

// private reports whether t's next step commutes with all steps of the others:
// it computes on what t has read, or asks for a lock that t's own covers.
func (m *model) private(s *state, t int) bool {
	x := &s.tx[t]
	if x.refusing {
		return false
	}
	switch m.programs[t].ops[x.pc].kind {
	case opJudge:
		return true
	case opSlot, opFK:
		q := m.next(s, t)
		return q.mode != none && covers(s.held[t][q.on], q.mode)
	default:
		return false
	}
}

// do takes the lock of t's next step and does the step.
func (m *model) do(s *state, t int, q request) {
	x := &s.tx[t]
	if x.refusing {
		m.tell(t, "refused: the trigger rolls the transaction back")
		s.end(t, refused, m.keepGhosts)
		return
	}
	before := s.held[t][q.on]
	if q.mode != none && q.keep {
		s.take(t, q.on, q.mode)
	}
	o := &m.programs[t].ops[x.pc]
	if m.log != nil {
		m.log(t, m.describe(s, t, o, q))
	}
	if o.kind == opCount {
		m.count(s, t, o, q)
		return
	}
	x.pc++
	switch o.kind {
	case opSlot:
		x.capacity[o.slot] = s.visibleCapacity(t, o.slot)
	case opJudge:
		m.judge(s, t, o)
	case opInsert:
		m.insert(s, t, o, q)
	case opFind, opWrite:
		if s.gone(o) { // zero rows: the lock goes again
			s.held[t][q.on] = before
			x.pc += o.arg
		}
	case opUnindex:
		s.rows[o.row].current = noRow
	case opCapacity:
		s.capacity[o.slot].current = o.arg
	case opCommit:
		s.end(t, committed, m.keepGhosts)
	case opRollback:
		s.end(t, rolledBack, m.keepGhosts)
	}
}

// gone reports whether what a statement looks for is no longer there.
func (s *state) gone(o *op) bool {
	if o.kind == opFind {
		return !s.live(entry(o.slot, o.row))
	}
	return s.rows[o.row].current != o.slot
}

func (m *model) tell(t int, line string) {
	if m.log != nil {
		m.log(t, line)
	}
}

func (m *model) insert(s *state, t int, o *op, q request) {
	k := entry(o.slot, o.row)
	own := modeX
	// A new key splits the gap: what t had locked of it stays locked on both sides.
	if q.mode == rangeIN && s.held[t][q.on] >= rangeSS {
		own = rangeXX
	}
	s.take(t, entryKey(k), own)
	s.take(t, rowKey(o.row), modeX)
	s.present |= 1 << k
	s.rows[o.row].current = o.slot
}

func (m *model) judge(s *state, t int, o *op) {
	x := &s.tx[t]
	if x.counted[o.slot]+o.arg <= x.capacity[o.slot] {
		return
	}
	x.refusing = true
	if s.visible(t, o.slot)+o.arg <= s.visibleCapacity(t, o.slot) {
		x.lie = true
	}
}
