package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// maxBatch bounds one transaction, and so how long its row locks are held. It is
// as much as the default queue holds: when more is asked than can be done, the
// processors go to those who are refused, a batch is long in coming, and what is
// left over from it waits as long again. 512 kept a third of the peak then.
const maxBatch = 4096

// askAfter is how long a request waits before its client's context is asked
// whether the client is still there: that may cost a system call.
const askAfter = 50 * time.Millisecond

// combiner collects the requests that wait and writes them together: a batch
// is what gathered while the last one was being written, so a lone request is
// never delayed; it is not even handed to another goroutine. One slot is in at
// most one batch at a time and its requests are judged in the order in which
// they came.
type combiner struct {
	s *Service
	b Batcher

	mu     sync.Mutex
	writes lane
	peeks  lane
	taken  map[int64]bool     // slots of batches being written
	writer map[int64]int      // requests of a slot that wait for or are in a write
	full   map[int64]struct{} // slots whose last answer was ErrSlotFull: a hint, never an answer
	pace   time.Duration      // what the last batch took, at most a quarter of a call's time
	closed bool
	done   sync.WaitGroup // batches under way
	aside  chan struct{}  // bounds the batches written aside, see writeAside
}

// lane is a queue of requests in order of arrival, and how its batches run.
type lane struct {
	queue   []*request
	take    func() []*request // takes from queue what may be a batch now
	work    func(batch []*request)
	running int // batches under way
	limit   int // of them
}

// request is one waiting op. Its state is guarded by combiner.mu.
type request struct {
	ctx      context.Context // ends with the time that the call may take
	caller   context.Context // the client's; may know that it left by Err alone
	since    time.Time
	op       Op
	begun    bool // a worker has it; it will be answered
	gone     bool // its client left before that
	answered chan struct{}
	outcome  Outcome
	waited   time.Duration // for its turn and for locks
}

func newCombiner(s *Service, b Batcher) *combiner {
	c := &combiner{
		s: s, b: b,
		taken: map[int64]bool{}, writer: map[int64]int{}, full: map[int64]struct{}{},
		aside: make(chan struct{}, s.cfg.Writers),
	}
	c.writes = lane{take: c.takeWrites, work: c.writeNow, limit: s.cfg.Batches}
	c.peeks = lane{take: c.takePeeks, work: c.peek, limit: 1}
	return c
}

// next takes a batch that is to be run, if one may begin. Under c.mu.
func (c *combiner) next(l *lane) []*request {
	if l.running == l.limit || len(l.queue) == 0 {
		return nil
	}
	batch := l.take()
	if len(batch) > 0 {
		l.running++
		c.done.Add(1)
	}
	return batch
}

// run runs a batch from next, and starts what may begin after it.
func (c *combiner) run(l *lane, batch []*request) {
	defer c.done.Done()
	l.work(batch)
	c.mu.Lock()
	l.running--
	c.start()
	c.mu.Unlock()
}

// start runs whatever may begin. Under c.mu; called whenever a batch has ended,
// a slot is no longer taken, or a peek has queued writes.
func (c *combiner) start() {
	for _, l := range []*lane{&c.peeks, &c.writes} {
		for batch := c.next(l); len(batch) > 0; batch = c.next(l) {
			go c.run(l, batch)
		}
	}
}

// do queues one op and waits for its answer. Errors: those of Service.do.
func (c *combiner) do(ctx context.Context, op Op) (Reservation, error) {
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, c.s.cfg.CallTimeout)
	defer cancel()
	r := &request{ctx: ctx, caller: caller, since: time.Now(), op: op, answered: make(chan struct{})}
	if err := c.enqueue(r); err != nil {
		return Reservation{}, err
	}
	select {
	case <-r.answered:
	case <-ctx.Done():
		if c.leave(r) {
			c.s.cfg.Observer.Waited(time.Since(r.since))
			return Reservation{}, fmt.Errorf("%w: no turn in time: %w", ErrBusy, context.Cause(ctx))
		}
		<-r.answered // its batch has begun and is bounded itself
	}
	c.s.cfg.Observer.Waited(r.waited)
	return r.outcome.Reservation, r.outcome.Err
}

// enqueue queues r. Where a batch may begin now it is run here, with r in it:
// to wake another goroutine would take as long as much of the work.
func (c *combiner) enqueue(r *request) error {
	c.mu.Lock()
	if n := len(c.writes.queue) + len(c.peeks.queue); c.closed || n >= c.s.cfg.Queue {
		c.mu.Unlock()
		return fmt.Errorf("%w: %d requests wait already", ErrBusy, n)
	}
	c.s.cfg.Observer.Waiting(1)
	// While a write of the slot waits, a Reserve waits behind it: a cancel
	// that came first is judged first.
	l := &c.writes
	if _, full := c.full[r.op.SlotID]; full && r.op.Action == ActReserve && c.writer[r.op.SlotID] == 0 {
		l = &c.peeks
		l.queue = append(l.queue, r)
	} else {
		c.queueWrite(r)
	}
	batch := c.next(l)
	c.mu.Unlock()
	if len(batch) > 0 {
		c.run(l, batch)
	}
	return nil
}

func (c *combiner) queueWrite(r *request) {
	c.writes.queue = append(c.writes.queue, r)
	c.writer[r.op.SlotID]++
}

// leave takes r back unless its batch has begun.
func (c *combiner) leave(r *request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.gone = !r.begun
	return r.gone
}

// takeWrites takes from the queue, in order, what may be written together now.
// It leaves what must come later: requests of a slot that another batch is
// writing, and from a slot's first request on that this batch cannot judge yet.
func (c *combiner) takeWrites() []*request {
	var batch []*request
	var later map[int64]bool
	var reserving map[Place]bool
	rest := c.writes.queue[:0]
	for i, r := range c.writes.queue {
		if len(batch) == maxBatch {
			rest = append(rest, c.writes.queue[i:]...)
			break
		}
		at := Place{r.op.SlotID, r.op.UserID}
		switch {
		case !r.gone && (c.taken[at.SlotID] || later[at.SlotID]):
			rest = append(rest, r)
		case c.dropped(r):
			c.wrote(r.op.SlotID)
		case r.op.Action != ActReserve && reserving[at]: // see Batcher.Write
			if later == nil {
				later = map[int64]bool{}
			}
			later[at.SlotID] = true
			rest = append(rest, r)
		default:
			if r.op.Action == ActReserve {
				if reserving == nil {
					reserving = map[Place]bool{}
				}
				reserving[at] = true
			}
			r.begun = true
			batch = append(batch, r)
		}
	}
	clear(c.writes.queue[len(rest):])
	c.writes.queue = rest
	for _, r := range batch {
		c.taken[r.op.SlotID] = true
	}
	return batch
}

// dropped says whether the request's client is gone, or would be before a
// batch like the last one is written, and forgets it then.
func (c *combiner) dropped(r *request) bool {
	if r.gone {
		c.s.cfg.Observer.Waiting(-1)
		return true
	}
	err := c.hopeless(r)
	if err == nil {
		return false
	}
	// Its client's wait has not ended yet, and now ends here.
	r.begun = true
	r.outcome.Err = fmt.Errorf("%w: %w", ErrBusy, err)
	close(r.answered)
	c.s.cfg.Observer.Waiting(-1)
	return true
}

// errTooLate: a batch that nobody waits for any more is work lost, and under
// more than can be done soon all of them are such.
var errTooLate = errors.New("too little time is left to write it")

func (c *combiner) hopeless(r *request) error {
	waited := time.Since(r.since)
	if err := r.ctx.Err(); err != nil || waited <= askAfter {
		return err
	}
	if err := r.caller.Err(); err != nil {
		return fmt.Errorf("the client left: %w", err)
	}
	if waited+c.pace > c.s.cfg.CallTimeout {
		return errTooLate
	}
	return nil
}

func (c *combiner) wrote(slotID int64) {
	if c.writer[slotID]--; c.writer[slotID] == 0 {
		delete(c.writer, slotID)
	}
}

func ops(batch []*request) []Op {
	list := make([]Op, len(batch))
	for i, r := range batch {
		list[i] = r.op
	}
	return list
}

// close takes no more requests and returns when those that wait are answered:
// as long as any do, a batch is under way.
func (c *combiner) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.done.Wait()
}
