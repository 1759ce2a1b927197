package lockmodel

// hint is what a SELECT in the trigger carries.
type hint uint8

const (
	updHold hint = iota // UPDLOCK, HOLDLOCK: as shipped
	upd                 // UPDLOCK alone
	hold                // HOLDLOCK alone
	plain               // no hint: a short S, or a row version under RCSI
	// For the count only:
	readPast // UPDLOCK, READPAST
	dirty    // no hint, in a session under READ UNCOMMITTED
	past     // no hint, in a session under SNAPSHOT
)

func (h hint) String() string {
	return [...]string{"UPDLOCK, HOLDLOCK", "UPDLOCK", "HOLDLOCK", "none", "UPDLOCK, READPAST",
		"none, READ UNCOMMITTED", "none, SNAPSHOT"}[h]
}

// foreignKey is how long the check of an inserted row keeps its S on the slot.
type foreignKey uint8

const (
	fkShort foreignKey = iota // until the check is done
	fkHeld                    // until the statement, and here the transaction, ends
	fkNone                    // no foreign key on the table
)

// variant is one set of rules. The zero value is the protocol as shipped, on a
// database without RCSI, with a covering index, over the documented matrix.
type variant struct {
	slot, count hint // in the trigger
	rcsi        bool
	fk          foreignKey
	lookup      bool // the index does not cover: each counted row is read by its primary key, too
	keepGhosts  bool
	queue       bool // a request also waits for older waiters it conflicts with
	retries     uint8
	noFirstLock bool // the adapter inserts without taking the slot first
	countFirst  bool // the trigger counts before it locks the slot
	oneByOne    bool // no step is merged into the one before; see model.step
	rules       *matrix
	anyVictim   bool // ignore DEADLOCK_PRIORITY
}

type opKind uint8

const (
	opSlot     opKind = iota // SELECT capacity of a slot, with a hint
	opCount                  // SELECT COUNT along the index on slot_id
	opJudge                  // refuse if counted + arg > capacity
	opInsert                 // a row and its index entry
	opFK                     // the foreign key's check
	opFind                   // seek a row to delete by the index: U on the entry; not there: skip arg ops
	opWrite                  // X on a row; no longer there: skip arg ops
	opUnindex                // X on the row's entry, which becomes a ghost
	opCapacity               // X on the slot, set its capacity to arg
	opCommit
	opRollback
)

type op struct {
	kind      opKind
	slot, row uint8
	arg       uint8
	hint      hint
}

// program is one transaction. The last op is its commit or rollback.
type program struct {
	name    string
	adapter bool // SET DEADLOCK_PRIORITY LOW
	ops     []op
}

// maker builds a program for the nth transaction, whose rows it inserts.
type maker func(v *variant, tx int) program

// trigger is the AFTER trigger's body: one slot after the other, ascending.
func trigger(v *variant, slots ...uint8) []op {
	var ops []op
	for _, s := range slots {
		lock := op{kind: opSlot, slot: s, hint: v.slot}
		count := op{kind: opCount, slot: s, hint: v.count}
		if v.countFirst {
			lock, count = count, lock
		}
		ops = append(ops, lock, count, op{kind: opJudge, slot: s})
	}
	return ops
}

func insert(v *variant, row, slot uint8) []op {
	ops := []op{{kind: opInsert, row: row, slot: slot}}
	if v.fk != fkNone {
		ops = append(ops, op{kind: opFK, slot: slot})
	}
	return ops
}

// erase deletes a row by its primary key, or after a seek of the index. Where
// the row has gone, then the statements that depend on it are skipped, too.
func erase(row, slot uint8, byIndex bool, dependent ...op) []op {
	n := uint8(len(dependent))
	ops := []op{{kind: opWrite, row: row, slot: slot, arg: n + 1}, {kind: opUnindex, row: row, slot: slot}}
	if byIndex {
		ops = append([]op{{kind: opFind, row: row, slot: slot, arg: n + 2}}, ops...)
	}
	return append(ops, dependent...)
}

func firstLock(v *variant, slot uint8) []op {
	if v.noFirstLock {
		return nil
	}
	return []op{{kind: opSlot, slot: slot, hint: updHold}}
}

func finish(name string, adapter bool, parts ...[]op) program {
	p := program{name: name, adapter: adapter}
	for _, part := range parts {
		p.ops = append(p.ops, part...)
	}
	if p.ops[len(p.ops)-1].kind != opRollback {
		p.ops = append(p.ops, op{kind: opCommit})
	}
	return p
}

// The adapter's transactions: the slot first, always.

func reserve(slot uint8) maker {
	return func(v *variant, tx int) program {
		return finish("adapter reserves in slot "+slotName(slot), true,
			firstLock(v, slot), insert(v, newRow(tx, 0), slot), trigger(v, slot))
	}
}

// freed is the expiry of a row of a slot whose lock is held. The UPDATE looks at
// all of the slot's keys under U; here it keeps U on all of them, which is more
// than the server does.
func freed(row, slot uint8) []op {
	return append([]op{{kind: opCount, slot: slot, hint: upd}}, erase(row, slot, false)...)
}

// reserveSweep frees an expired hold of the slot before it inserts.
func reserveSweep(v *variant, tx int) program {
	return finish("adapter frees row a, then reserves in slot 1", true, firstLock(v, 0), freed(rowA, 0),
		insert(v, newRow(tx, 0), 0), trigger(v, 0))
}

// reserveAll takes one place in each slot, or none: all slots locked, then a
// statement, and so a trigger, for each slot, ascending.
func reserveAll(first, second uint8) maker {
	return func(v *variant, tx int) program {
		return finish("adapter reserves in slots "+slotName(first)+" and "+slotName(second), true,
			firstLock(v, first), firstLock(v, second),
			insert(v, newRow(tx, 0), first), trigger(v, first), insert(v, newRow(tx, 1), second), trigger(v, second))
	}
}

// reserveAllSweep also frees row a in the first slot and row b in the second,
// each before its slot's INSERT.
func reserveAllSweep(first, second uint8) maker {
	return func(v *variant, tx int) program {
		return finish("adapter frees rows a and b and reserves in slots "+slotName(first)+" and "+slotName(second), true,
			firstLock(v, first), firstLock(v, second),
			freed(rowA, first), insert(v, newRow(tx, 0), first), trigger(v, first),
			freed(rowB, second), insert(v, newRow(tx, 1), second), trigger(v, second))
	}
}

// sweep frees an expired hold in the background: the slot first.
func sweep(row, slot uint8) maker {
	return func(v *variant, tx int) program {
		return finish("adapter sweeps row "+rowName(row), true, firstLock(v, slot), freed(row, slot))
	}
}

// raise is an edit that the trigger does not count for: the adapter counts, for
// its answer, without a hint.
func raise(slot, capacity uint8) maker {
	return func(v *variant, tx int) program {
		return finish("adapter raises slot "+slotName(slot), true, firstLock(v, slot),
			[]op{{kind: opCapacity, slot: slot, arg: capacity}, {kind: opCount, slot: slot, hint: plain}})
	}
}

// Shapes that the adapter had, and what was wrong with them is a test.

// reserveAtOnce inserts all rows by one statement, with one trigger.
func reserveAtOnce(first, second uint8) maker {
	return func(v *variant, tx int) program {
		return finish("adapter reserves in slots "+slotName(first)+" and "+slotName(second)+" at once", true,
			firstLock(v, first), firstLock(v, second),
			insert(v, newRow(tx, 0), first), insert(v, newRow(tx, 1), second), trigger(v, first, second))
	}
}

// reserveFreedFirst frees in all slots before the first INSERT.
func reserveFreedFirst(first, second uint8) maker {
	return func(v *variant, tx int) program {
		return finish("adapter frees rows a and b, then reserves in slots "+slotName(first)+" and "+slotName(second), true,
			firstLock(v, first), firstLock(v, second), freed(rowA, first), freed(rowB, second),
			insert(v, newRow(tx, 0), first), trigger(v, first), insert(v, newRow(tx, 1), second), trigger(v, second))
	}
}

// sweepRowFirst finds an expired hold by another index and takes no slot first.
func sweepRowFirst(row, slot uint8) maker {
	return func(v *variant, tx int) program {
		return finish("adapter sweeps row "+rowName(row)+" without its slot", true, erase(row, slot, false))
	}
}

func cancel(row, slot uint8) maker {
	return func(v *variant, tx int) program {
		return finish("adapter cancels row "+rowName(row), true, firstLock(v, slot), erase(row, slot, true))
	}
}

func edit(adapter bool, slot, capacity uint8) maker {
	return func(v *variant, tx int) program {
		name := "foreign UPDATE lowers slot " + slotName(slot)
		if adapter {
			name = "adapter lowers slot " + slotName(slot)
		}
		// An UPDATE reads under U before it writes, so both look alike.
		return finish(name, adapter, []op{{kind: opSlot, slot: slot, hint: updHold}},
			[]op{{kind: opCapacity, slot: slot, arg: capacity}}, trigger(v, slot))
	}
}

// The foreign writers: no lock first, the trigger alone stands in their way.

func plainInsert(slot uint8) maker {
	return func(v *variant, tx int) program {
		return finish("foreign INSERT into slot "+slotName(slot), false,
			insert(v, newRow(tx, 0), slot), trigger(v, slot))
	}
}

// twoRows inserts one row in each slot, in the order given.
func twoRows(first, second uint8) maker {
	return func(v *variant, tx int) program {
		return finish("foreign INSERT into slots "+slotName(first)+" and "+slotName(second), false,
			insert(v, newRow(tx, 0), first), insert(v, newRow(tx, 1), second), trigger(v, 0, 1))
	}
}

func deleteRow(row, slot uint8, byIndex, undo bool) maker {
	return func(v *variant, tx int) program {
		name, last := "foreign DELETE of row "+rowName(row), []op(nil)
		if byIndex {
			name += " by the index"
		}
		if undo {
			name, last = name+", then ROLLBACK", []op{{kind: opRollback}}
		}
		return finish(name, false, erase(row, slot, byIndex), last)
	}
}

func move(row, from, to uint8) maker {
	return func(v *variant, tx int) program {
		return finish("foreign UPDATE moves row "+rowName(row)+" to slot "+slotName(to), false,
			erase(row, from, false, append(insert(v, row, to), trigger(v, to)...)...))
	}
}

// lookThenInsert is the check-then-act that a trigger is not: it counts, then
// inserts, and nothing judges it afterwards.
func lookThenInsert(slot uint8) maker {
	return func(v *variant, tx int) program {
		return finish("counts, then INSERTs into slot "+slotName(slot), false,
			[]op{{kind: opSlot, slot: slot, hint: plain}, {kind: opCount, slot: slot, hint: v.count}},
			[]op{{kind: opJudge, slot: slot, arg: 1}}, insert(v, newRow(tx, 0), slot))
	}
}

func slotName(s uint8) string { return string('1' + rune(s)) }

func rowName(r uint8) string {
	return [numRows]string{"p1", "p2", "a", "b", "q1", "q2", "r1", "r2"}[r]
}
