package lockmodel

// setup is the data before the transactions begin.
type setup struct {
	capacity [numSlots]uint8
	rowA     bool // in slot 1
	rowB     bool // in slot 2
	farB     bool // row b in slot 3 instead
}

func (d setup) state(m *model) state {
	var s state
	for i, c := range d.capacity {
		s.capacity[i] = versions{c, c}
	}
	for r := range s.rows {
		s.rows[r] = versions{noRow, noRow}
	}
	put := func(row, slot uint8) {
		s.rows[row] = versions{slot, slot}
		s.present |= 1 << entry(slot, row)
	}
	if d.rowA {
		put(rowA, 0)
	}
	if d.rowB {
		put(rowB, 1)
	}
	if d.farB {
		put(rowB, 2)
	}
	for t := range m.programs {
		s.tx[t].retries = m.retries
	}
	for t := len(m.programs); t < maxTx; t++ {
		s.tx[t].outcome = rolledBack // not there
	}
	return s
}

// action is one edge: what a transaction, or the deadlock monitor, does.
type action struct {
	kind actionKind
	tx   uint8
}

type actionKind uint8

const (
	actStep actionKind = iota
	actWait            // joins the queue (variant.queue alone)
	actKill            // deadlock victim
)

// node is a state that was reached, and from where first: the shortest way.
type node struct {
	parent int32
	by     action
	// Where its edges begin and end in explorer.edges.
	from, to int32
}

// result is what an exploration found. Node numbers are -1 where there is none.
type result struct {
	states    int
	schedules float64 // different interleavings through those states

	oversell  int32 // a committed state with more rows than capacity
	oversold  int32 // the same with all transactions at their end
	lie       int32 // a refusal although there was room
	stuck     int32 // nobody can go on and there is no cycle
	starved   int32 // the end, and all were deadlock victims
	deadlock  int32 // the first cycle of any kind
	adapters  int32 // a cycle of adapters alone
	wrongPick int32 // a foreign victim in a cycle with an adapter

	foreignCycles, mixedCycles int // victims picked in cycles of that kind
	ends                       []end
}

// end is a final state that was reached.
type end struct {
	outcomes [maxTx]outcome
	rows     [numSlots]uint8
	retries  [maxTx]uint8 // left
}

// explorer goes through every interleaving of a model's transactions. It keeps
// its memory from one exploration to the next, because that is most of the time.
type explorer struct {
	m      *model
	states []state
	nodes  []node
	edges  []int32 // of all nodes, one after the other
	index  map[state]int32
	result result
}

// explore searches breadth first and meets each state once.
func (e *explorer) explore(m *model, d setup) result {
	if e.index == nil {
		e.index = map[state]int32{}
	}
	clear(e.index)
	e.m, e.states, e.nodes, e.edges = m, e.states[:0], e.nodes[:0], e.edges[:0]
	e.result = result{oversell: -1, oversold: -1, lie: -1, stuck: -1, starved: -1, deadlock: -1, adapters: -1, wrongPick: -1}
	e.add(d.state(m), node{parent: -1})
	for i := int32(0); int(i) < len(e.states); i++ {
		e.nodes[i].from = int32(len(e.edges))
		e.expand(i)
		e.nodes[i].to = int32(len(e.edges))
	}
	e.result.states = len(e.states)
	e.result.schedules = e.countPaths(0, make([]float64, len(e.states)))
	return e.result
}

func (e *explorer) add(s state, n node) int32 {
	if i, seen := e.index[s]; seen {
		return i
	}
	i := int32(len(e.states))
	e.index[s] = i
	e.states, e.nodes = append(e.states, s), append(e.nodes, n)
	e.judge(i, &s)
	return i
}

// judge looks at a new state's data.
func (e *explorer) judge(i int32, s *state) {
	if _, over := s.oversold(); over {
		first(&e.result.oversell, i)
	}
	for t := range s.tx {
		if s.tx[t].lie {
			first(&e.result.lie, i)
		}
	}
}

func first(found *int32, i int32) {
	if *found < 0 {
		*found = i
	}
}

func (e *explorer) expand(i int32) {
	s := e.states[i]
	waits, done := e.m.waits(&s), true
	for t := range e.m.programs {
		if s.tx[t].outcome != running {
			continue
		}
		done = false
		switch {
		case waits[t] == 0:
			e.follow(i, action{actStep, uint8(t)})
		case e.m.queue && !s.queued(t):
			e.follow(i, action{actWait, uint8(t)})
			waits[t] = 0 // it has not asked yet
		}
	}
	if done {
		e.finish(i, &s)
		return
	}
	for _, c := range cycles(waits) {
		e.breakCycle(i, c)
	}
	if int(e.nodes[i].from) == len(e.edges) {
		first(&e.result.stuck, i)
	}
}

func (e *explorer) follow(i int32, a action) {
	s := e.states[i]
	e.m.apply(&s, a)
	e.edges = append(e.edges, e.add(s, node{parent: i, by: a}))
}

func (m *model) apply(s *state, a action) {
	t := int(a.tx)
	switch a.kind {
	case actWait:
		s.enqueue(t)
	case actKill:
		s.dequeue(t)
		m.kill(s, t)
	default:
		s.dequeue(t)
		m.step(s, t)
	}
	// Whoever lets a lock go hands it to the next in the queue at once.
	for t := m.served(s); t >= 0; t = m.served(s) {
		s.dequeue(t)
		m.step(s, t)
	}
}

func (e *explorer) breakCycle(i int32, cycle txSet) {
	r := &e.result
	first(&r.deadlock, i)
	var adapters int
	for t, p := range e.m.programs {
		if cycle.has(t) && p.adapter {
			adapters++
		}
	}
	if adapters == cycle.size() {
		first(&r.adapters, i)
	}
	victims := e.m.victims(cycle)
	for t, p := range e.m.programs {
		if !victims.has(t) {
			continue
		}
		if adapters > 0 && !p.adapter {
			first(&r.wrongPick, i)
		}
		if adapters > 0 {
			r.mixedCycles++
		} else {
			r.foreignCycles++
		}
		e.follow(i, action{actKill, uint8(t)})
	}
}

func (e *explorer) finish(i int32, s *state) {
	var x end
	through := false
	for t := range e.m.programs {
		x.outcomes[t], x.retries[t] = s.tx[t].outcome, s.tx[t].retries
		through = through || s.tx[t].outcome != deadlocked
	}
	for _, r := range s.rows {
		if r.committed < numSlots {
			x.rows[r.committed]++
		}
	}
	if _, over := s.oversold(); over {
		first(&e.result.oversold, i)
	}
	if !through {
		first(&e.result.starved, i)
	}
	e.result.ends = append(e.result.ends, x)
}

// countPaths counts the ways from a state to an end. Each step uses something
// up (a step of a program, a place in the queue, a retry), so there is no loop.
func (e *explorer) countPaths(i int32, known []float64) float64 {
	n := e.nodes[i]
	if n.from == n.to {
		return 1
	}
	if known[i] == 0 {
		for _, j := range e.edges[n.from:n.to] {
			known[i] += e.countPaths(j, known)
		}
	}
	return known[i]
}
