package lockmodel

const (
	maxTx    = 3
	numSlots = 3
	numRows  = 8
	// infinity is the end of the index on slot_id, lockable like a key.
	infinity = numSlots * numRows
	// noRow as a row's slot: the row is not there.
	noRow = 0xff
)

// Rows in index order within a slot. Each transaction has two rows of its own to
// insert: the first one's land before the rows that exist, the others' behind,
// so that new keys fall into the first, the middle and the last gap.
const (
	rowA = 2 // in slot 0 at the start
	rowB = 3 // in slot 1 at the start
)

func newRow(tx, nth int) uint8 { return uint8([maxTx]int{0, 4, 6}[tx] + nth) }

// resource numbers what can be locked: slots by primary key, reservations by
// primary key, and the entries (slot, row) of the index on slot_id.
type resource uint8

const numResources = numSlots + numRows + infinity + 1

func slotKey(s uint8) resource  { return resource(s) }
func rowKey(r uint8) resource   { return resource(numSlots + r) }
func entryKey(k uint8) resource { return resource(numSlots + numRows + k) }
func entry(s, r uint8) uint8    { return s*numRows + r }

type outcome uint8

const (
	running outcome = iota
	committed
	rolledBack // of its own will
	refused    // by the trigger
	deadlocked // chosen as victim, 1205
)

func (o outcome) String() string {
	return [...]string{"running", "committed", "rolled back", "refused", "deadlocked"}[o]
}

// versions is a value as committed and as its writer sees it. They differ only
// while one transaction holds X on it.
type versions struct{ committed, current uint8 }

type txState struct {
	pc       uint8
	at       uint8 // where in the index the running count goes on; 0 = not begun, else key+1
	lookup   bool  // the count holds the entry and goes to its row
	refusing bool
	lie      bool // refused although there was room
	retries  uint8
	outcome  outcome
	capacity [numSlots]uint8 // as read
	counted  [numSlots]uint8
	begun    bool
	atBegin  [numSlots]uint8 // committed rows when the transaction began
}

// state is comparable, so that it is its own hash key.
type state struct {
	held     [maxTx][numResources]mode
	rows     [numRows]versions
	capacity [numSlots]versions
	present  uint32 // index entries that are physically there, ghosts included
	tx       [maxTx]txState
	queue    [maxTx]uint8 // waiting transactions + 1, oldest first
}

// next returns the first entry at or behind k, or infinity.
func (s *state) next(k uint8) uint8 {
	for ; k < infinity; k++ {
		if s.present&(1<<k) != 0 {
			return k
		}
	}
	return infinity
}

// live reports whether the entry is no ghost.
func (s *state) live(k uint8) bool {
	return k < infinity && s.present&(1<<k) != 0 && s.rows[k%numRows].current == k/numRows
}

func (s *state) take(t int, r resource, m mode) { s.held[t][r] = convert(s.held[t][r], m) }

func writes(m mode) bool { return keyPart(m) == modeX }

// visible counts a slot's rows as t may see them at best: what is committed and
// what t wrote itself.
func (s *state) visible(t int, slot uint8) uint8 {
	n := uint8(0)
	for r := uint8(0); r < numRows; r++ {
		at := s.rows[r].committed
		if writes(s.held[t][rowKey(r)]) {
			at = s.rows[r].current
		}
		if at == slot {
			n++
		}
	}
	return n
}

// asBegun is what t sees under SNAPSHOT: the rows of then, and its own writes.
func (s *state) asBegun(t int, slot uint8) uint8 {
	n := s.tx[t].atBegin[slot]
	for r, v := range s.rows {
		if !writes(s.held[t][rowKey(uint8(r))]) || v.current == v.committed {
			continue
		}
		if v.current == slot {
			n++
		}
		if v.committed == slot {
			n--
		}
	}
	return n
}

// visibleCapacity is the same for the slot's capacity.
func (s *state) visibleCapacity(t int, slot uint8) uint8 {
	if writes(s.held[t][slotKey(slot)]) {
		return s.capacity[slot].current
	}
	return s.capacity[slot].committed
}

// end makes t's writes durable, or undoes them, and lets its locks go.
func (s *state) end(t int, o outcome, keepGhosts bool) {
	settle := func(v *versions, h mode) {
		if !writes(h) {
			return
		}
		if o == committed {
			v.committed = v.current
		} else {
			v.current = v.committed
		}
	}
	for r := range s.rows {
		settle(&s.rows[r], s.held[t][rowKey(uint8(r))])
	}
	for i := range s.capacity {
		settle(&s.capacity[i], s.held[t][slotKey(uint8(i))])
	}
	s.held[t] = [numResources]mode{}
	s.tx[t] = txState{outcome: o, retries: s.tx[t].retries, lie: s.tx[t].lie}
	if !keepGhosts {
		s.sweepGhosts()
	}
}

// sweepGhosts takes ghosts out that nobody has a lock on.
func (s *state) sweepGhosts() {
	for k := uint8(0); k < infinity; k++ {
		if s.present&(1<<k) == 0 || s.live(k) || s.locked(entryKey(k)) {
			continue
		}
		s.present &^= 1 << k
	}
}

func (s *state) locked(r resource) bool {
	for t := range s.held {
		if s.held[t][r] != none {
			return true
		}
	}
	return false
}

// oversold returns a slot whose committed rows exceed its committed capacity.
func (s *state) oversold() (uint8, bool) {
	for slot := uint8(0); slot < numSlots; slot++ {
		n := uint8(0)
		for r := range s.rows {
			if s.rows[r].committed == slot {
				n++
			}
		}
		if n > s.capacity[slot].committed {
			return slot, true
		}
	}
	return 0, false
}
