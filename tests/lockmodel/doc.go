// Package lockmodel is an explicit-state model of the lock protocol that keeps
// a slot from being overbooked on SQL Server. It runs every interleaving of two
// and of three transactions, lock by lock, and looks at each committed state.
//
// What it proves: that the protocol as written down here (which locks, in which
// order, held how long) never commits more live rows than the capacity, that
// the adapter's transactions on slots cannot deadlock among themselves, and that
// each deadlock with a foreign writer lets one of the parties through.
//
// What it does not prove: anything about SQL Server itself. It is no SQL Server.
// It has three slots, one index besides the primary keys, one range a slot and
// at most three transactions; no lock escalation, no page or table locks, no
// parallel plans, no lock time-outs, no optimized locking, no duplicate keys, no
// deletion of slots, SNAPSHOT isolation for an unhinted count alone, and it
// believes that the plan seeks the index on slot_id.
// That the server takes these locks for these statements is for the tests
// against a real server to show; they try few interleavings, this tries all.
//
// What is modelled, and from where:
//
//   - Lock modes and their compatibility, RangeI-N as a test of the gap that is
//     not kept, n+1 key-range locks for a range of n rows, the delete's X on the
//     key alone, deadlock victims by DEADLOCK_PRIORITY: Microsoft, "Transaction
//     locking and row versioning guide", sections Key-Range Locking, Conversion
//     Locks, Detecting and Ending Deadlocks. Equal priorities: the server picks
//     the cheaper rollback; here both choices are explored.
//   - A seek of one existing key of a unique index takes a plain key lock, no
//     range, even under HOLDLOCK (observed in sys.dm_tran_locks by several
//     authors; the guide does not say). So HOLDLOCK on the slot's row adds only
//     duration, and UPDLOCK has that already.
//   - The foreign key: the check of an inserted booking reads the slot's key
//     under a shared lock of locking READ COMMITTED, under READ COMMITTED
//     SNAPSHOT as well (Paul White, sqlperformance.com 2021-06, "Foreign Keys,
//     Blocking, and Update Conflicts"; sqlnotes.info 2012-06-26). It comes after
//     the row is in the table and before the AFTER trigger. No source says
//     bindingly whether S goes when the check is done or when the statement (the
//     trigger included) ends, so both are explored; with one statement a
//     transaction, the end of the statement is the end of the transaction. A
//     table without the foreign key is explored too.
//   - Deleted keys, and keys whose insert was rolled back, stay as ghosts (they
//     end gaps, and a scan locks them) until no lock is on them, or longer; both.
//   - Waiting has no order unless variant.queue asks for one: whoever can be
//     granted may be granted. That covers every order a real queue could have
//     for safety; queues add waits, so deadlock freedom is checked with them too.
package lockmodel
