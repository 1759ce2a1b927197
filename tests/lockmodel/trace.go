package lockmodel

import (
	"fmt"
	"strings"
)

// trace writes the shortest interleaving that leads to a node, one line a step.
func (e *explorer) trace(d setup, to int32) string {
	var way []action
	for i := to; e.nodes[i].parent >= 0; i = e.nodes[i].parent {
		way = append([]action{e.nodes[i].by}, way...)
	}
	var b strings.Builder
	for t, p := range e.m.programs {
		fmt.Fprintf(&b, "%s = %s\n", txName(t), p.name)
	}
	m := *e.m
	n := 0
	m.log = func(t int, line string) {
		n++
		fmt.Fprintf(&b, "%3d  %s  %s\n", n, txName(t), line)
	}
	s := d.state(&m)
	for _, a := range way {
		switch a.kind {
		case actWait:
			m.log(int(a.tx), "waits")
		case actKill:
			m.log(int(a.tx), "deadlock victim (1205): rolled back")
		}
		m.apply(&s, a)
	}
	m.tail(&b, &s)
	return b.String()
}

// tail writes who waits for whom at the end, and what is committed.
func (m *model) tail(b *strings.Builder, s *state) {
	for t, w := range m.waits(s) {
		for u := range m.programs {
			if w.has(u) {
				q := m.next(s, t)
				fmt.Fprintf(b, "     %s  waits for %s: wants %s on %s, where %s holds %s\n", txName(t), txName(u),
					q.mode, resourceName(q.on), txName(u), s.held[u][q.on])
			}
		}
	}
	for slot := range s.capacity {
		if !m.touches(uint8(slot)) {
			continue
		}
		n := 0
		for _, r := range s.rows {
			if int(r.committed) == slot {
				n++
			}
		}
		fmt.Fprintf(b, "     committed: slot %s has %d of %d\n", slotName(uint8(slot)), n, s.capacity[slot].committed)
	}
}

func (m *model) touches(slot uint8) bool {
	for _, p := range m.programs {
		for _, o := range p.ops {
			if o.slot == slot && o.kind != opCommit && o.kind != opRollback {
				return true
			}
		}
	}
	return false
}

func txName(t int) string { return string('A' + rune(t)) }

func resourceName(r resource) string {
	switch {
	case r < numSlots:
		return "slot " + slotName(uint8(r))
	case r < numSlots+numRows:
		return "row " + rowName(uint8(r)-numSlots)
	case r == entryKey(infinity):
		return "the end of the index"
	default:
		k := uint8(r) - numSlots - numRows
		return "key (" + slotName(k/numRows) + ", " + rowName(k%numRows) + ")"
	}
}

// describe says what a step does, before it does it.
func (m *model) describe(s *state, t int, o *op, q request) string {
	slot, lock := slotName(o.slot), "reads a version, no lock"
	if q.mode != none {
		lock = fmt.Sprintf("%s on %s", q.mode, resourceName(q.on))
		if !q.keep && q.mode != rangeIN {
			lock += ", let go at once"
		}
	}
	x := &s.tx[t]
	switch o.kind {
	case opSlot:
		return fmt.Sprintf("reads slot %s: capacity %d (%s)", slot, s.visibleCapacity(t, o.slot), lock)
	case opCount:
		return m.describeCount(s, t, o, lock)
	case opJudge:
		if o.arg > 0 {
			return fmt.Sprintf("judges slot %s: %d of %d, wants %d more", slot, x.counted[o.slot], x.capacity[o.slot], o.arg)
		}
		return fmt.Sprintf("trigger judges slot %s: %d of %d", slot, x.counted[o.slot], x.capacity[o.slot])
	case opInsert:
		return fmt.Sprintf("puts row %s into slot %s (%s), X on row and key", rowName(o.row), slot, lock)
	case opFK:
		return fmt.Sprintf("foreign key check of slot %s (%s)", slot, lock)
	case opFind:
		return fmt.Sprintf("seeks row %s (%s)", rowName(o.row), lock)
	case opWrite, opUnindex:
		return fmt.Sprintf("removes row %s from slot %s (%s)", rowName(o.row), slot, lock)
	case opCapacity:
		return fmt.Sprintf("sets slot %s to capacity %d (%s)", slot, o.arg, lock)
	case opCommit:
		return "commits"
	default:
		return "rolls back"
	}
}

func (m *model) describeCount(s *state, t int, o *op, lock string) string {
	x, slot := &s.tx[t], slotName(o.slot)
	if m.snapshot(o) {
		return fmt.Sprintf("counts slot %s: %d (%s)", slot, m.version(s, t, o), lock)
	}
	k, inside := position(s, x, o)
	switch {
	case !inside && rowMode(o.hint) != rangeSU && rowMode(o.hint) != rangeSS:
		return fmt.Sprintf("counts slot %s: end, %d", slot, x.counted[o.slot])
	case !inside:
		return fmt.Sprintf("counts slot %s: the key behind (%s), %d", slot, lock, x.counted[o.slot])
	case o.hint == readPast && m.blockers(s, t, request{entryKey(k), modeU, true}) != 0:
		return fmt.Sprintf("counts slot %s: skips %s, locked by another", slot, resourceName(entryKey(k)))
	case o.hint == readPast:
		return fmt.Sprintf("counts slot %s: U on %s", slot, resourceName(entryKey(k)))
	case o.hint == dirty:
		return fmt.Sprintf("counts slot %s: %s as it is, committed or not", slot, resourceName(entryKey(k)))
	default:
		return fmt.Sprintf("counts slot %s: %s", slot, lock)
	}
}
