package lockmodel

import "math/bits"

// txSet is a set of transactions, one bit each.
type txSet uint8

func (a txSet) has(t int) bool { return a&(1<<t) != 0 }

// blockers returns who must end, or be served first, before t gets its lock.
func (m *model) blockers(s *state, t int, q request) txSet {
	if q.mode == none || covers(s.held[t][q.on], q.mode) {
		return 0
	}
	var b txSet
	for u := range m.programs {
		if u != t && !m.rules[q.mode][s.held[u][q.on]] {
			b |= 1 << u
		}
	}
	if m.queue && s.held[t][q.on] == none { // a conversion goes ahead of the queue
		b |= m.older(s, t, q)
	}
	return b
}

// older returns those who wait for the same key for longer than t, in a mode
// that conflicts with t's.
func (m *model) older(s *state, t int, q request) txSet {
	var b txSet
	for _, w := range s.queue {
		u := int(w) - 1
		if u < 0 || u == t {
			break
		}
		if p := m.next(s, u); p.on == q.on && p.mode != none && !m.rules[q.mode][p.mode] {
			b |= 1 << u
		}
	}
	return b
}

func (s *state) queued(t int) bool {
	for _, w := range s.queue {
		if int(w) == t+1 {
			return true
		}
	}
	return false
}

func (s *state) enqueue(t int) {
	for i, w := range s.queue {
		if w == 0 {
			s.queue[i] = uint8(t + 1)
			return
		}
	}
}

func (s *state) dequeue(t int) {
	n := 0
	for _, w := range s.queue {
		if int(w) != t+1 {
			s.queue[n] = w
			n++
		}
	}
	for ; n < len(s.queue); n++ {
		s.queue[n] = 0
	}
}

// waits returns for each transaction whom it waits for.
func (m *model) waits(s *state) [maxTx]txSet {
	var w [maxTx]txSet
	for t := range m.programs {
		if s.tx[t].outcome == running {
			w[t] = m.blockers(s, t, m.next(s, t))
		}
	}
	return w
}

// cycles returns the deadlocks of a waits-for graph. With three transactions a
// cycle is a pair or all three.
func cycles(w [maxTx]txSet) []txSet {
	var found []txSet
	for a := 0; a < maxTx; a++ {
		for b := a + 1; b < maxTx; b++ {
			if w[a].has(b) && w[b].has(a) {
				found = append(found, 1<<a|1<<b)
			}
		}
	}
	if w[0].has(1) && w[1].has(2) && w[2].has(0) || w[0].has(2) && w[2].has(1) && w[1].has(0) {
		found = append(found, 0b111)
	}
	return found
}

// victims returns who may be rolled back to break a cycle: the lowest priority,
// and any of them where equal.
func (m *model) victims(cycle txSet) txSet {
	var adapters txSet
	for t, p := range m.programs {
		if cycle.has(t) && p.adapter {
			adapters |= 1 << t
		}
	}
	if adapters == 0 || m.anyVictim {
		return cycle
	}
	return adapters
}

// kill rolls a victim back. An adapter that has a retry left begins anew.
func (m *model) kill(s *state, t int) {
	left := s.tx[t].retries
	s.end(t, deadlocked, m.keepGhosts)
	if m.programs[t].adapter && left > 0 {
		s.tx[t] = txState{retries: left - 1}
	}
}

func (a txSet) size() int { return bits.OnesCount8(uint8(a)) }

// served returns the first waiter in the queue whose lock has become free, or -1.
func (m *model) served(s *state) int {
	for _, w := range s.queue {
		if t := int(w) - 1; t >= 0 && m.blockers(s, t, m.next(s, t)) == 0 {
			return t
		}
	}
	return -1
}
