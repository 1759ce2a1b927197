package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// maxBatch bounds one transaction: beyond it the row locks would be held long
// and the gain of sharing one commit is spent.
const maxBatch = 512

// combiner collects the requests that wait and writes them together: a batch
// is what gathered while the last one was being written, so a lone request is
// never delayed. One slot is in at most one batch at a time and its requests
// are judged in the order in which they came.
type combiner struct {
	s *Service
	b Batcher

	mu      sync.Mutex
	work    *sync.Cond // signals workers: something to take, or closed
	writes  lane
	peeks   lane
	taken   map[int64]bool     // slots of batches being written
	writer  map[int64]int      // requests of a slot that wait for or are in a write
	full    map[int64]struct{} // slots whose last answer was ErrSlotFull: a hint, never an answer
	peeking int                // peek batches under way, which may still queue writes
	closed  bool
	done    sync.WaitGroup
	aside   chan struct{} // bounds the batches written aside, see writeAside
}

// lane is a bounded queue of requests in order of arrival.
type lane []*request

// request is one waiting op. Its state is guarded by combiner.mu.
type request struct {
	ctx      context.Context
	op       Op
	begun    bool // a worker has it; it will be answered
	gone     bool // its client left before that
	answered chan struct{}
	outcome  Outcome
}

func newCombiner(s *Service, b Batcher) *combiner {
	c := &combiner{
		s: s, b: b,
		taken: map[int64]bool{}, writer: map[int64]int{}, full: map[int64]struct{}{},
		aside: make(chan struct{}, s.cfg.Writers),
	}
	c.work = sync.NewCond(&c.mu)
	for range s.cfg.Batches {
		c.start(c.takeWrites, func(batch []*request) { c.write(batch, false) })
	}
	c.start(c.takePeeks, c.peek)
	return c
}

func (c *combiner) start(take func() []*request, run func([]*request)) {
	c.done.Add(1)
	go func() {
		defer c.done.Done()
		for batch := c.wait(take); batch != nil; batch = c.wait(take) {
			run(batch)
		}
	}()
}

// wait blocks until take yields a batch; nil when the combiner is closed and
// nothing is left.
func (c *combiner) wait(take func() []*request) []*request {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if batch := take(); len(batch) > 0 {
			return batch
		}
		if c.closed && len(c.writes) == 0 && len(c.peeks) == 0 && c.peeking == 0 {
			c.work.Broadcast()
			return nil
		}
		c.work.Wait()
	}
}

// do queues one op and waits for its answer. Errors: those of Service.do.
func (c *combiner) do(ctx context.Context, op Op) (Reservation, error) {
	ctx, cancel := context.WithTimeout(ctx, c.s.cfg.CallTimeout)
	defer cancel()
	r := &request{ctx: ctx, op: op, answered: make(chan struct{})}
	if err := c.enqueue(r); err != nil {
		return Reservation{}, err
	}
	select {
	case <-r.answered:
	case <-ctx.Done():
		if c.leave(r) {
			return Reservation{}, fmt.Errorf("%w: no turn in time: %w", ErrBusy, context.Cause(ctx))
		}
		<-r.answered // its batch has begun and is bounded itself
	}
	return r.outcome.Reservation, r.outcome.Err
}

func (c *combiner) enqueue(r *request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.writes) + len(c.peeks); c.closed || n >= c.s.cfg.Queue {
		return fmt.Errorf("%w: %d requests wait already", ErrBusy, n)
	}
	c.s.cfg.Observer.Waiting(1)
	// While a write of the slot waits, a Reserve waits behind it: a cancel
	// that came first is judged first.
	_, full := c.full[r.op.SlotID]
	if full && r.op.Action == ActReserve && c.writer[r.op.SlotID] == 0 {
		c.peeks = append(c.peeks, r)
	} else {
		c.queueWrite(r)
	}
	c.work.Broadcast()
	return nil
}

func (c *combiner) queueWrite(r *request) {
	c.writes = append(c.writes, r)
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
	rest := c.writes[:0]
	for i, r := range c.writes {
		if len(batch) == maxBatch {
			rest = append(rest, c.writes[i:]...)
			break
		}
		at := Place{r.op.SlotID, r.op.UserID}
		switch {
		case c.dropped(r):
			c.wrote(r.op.SlotID)
		case c.taken[at.SlotID] || later[at.SlotID]:
			rest = append(rest, r)
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
	clear(c.writes[len(rest):])
	c.writes = rest
	for _, r := range batch {
		c.taken[r.op.SlotID] = true
	}
	return batch
}

// dropped says whether the request's client is gone, and forgets it then.
func (c *combiner) dropped(r *request) bool {
	if !r.gone && r.ctx.Err() == nil {
		return false
	}
	if !r.gone { // its client's wait has not ended yet, and now ends here
		r.begun = true
		r.outcome.Err = fmt.Errorf("%w: the client left: %w", ErrBusy, context.Cause(r.ctx))
		close(r.answered)
	}
	c.s.cfg.Observer.Waiting(-1)
	return true
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

// write writes a batch and answers its requests. wait is that of Batcher.Write.
func (c *combiner) write(batch []*request, wait bool) {
	c.s.cfg.Observer.Batch(len(batch))
	ctx, cancel := patience(batch)
	defer cancel()
	outcomes, err := c.try(ctx, batch, wait)
	if err == nil {
		c.answer(batch, func(i int) Outcome { return outcomes[i] })
		return
	}
	c.answerFailed(batch, err)
}

// patience is a context that ends when the last client of a batch stops
// waiting: some have waited long before their batch began.
func patience(batch []*request) (context.Context, context.CancelFunc) {
	var last time.Time
	for _, r := range batch {
		if at, _ := r.ctx.Deadline(); at.After(last) {
			last = at
		}
	}
	return context.WithDeadline(context.Background(), last)
}

// try writes a batch, again where the database gave it up.
func (c *combiner) try(ctx context.Context, batch []*request, wait bool) ([]Outcome, error) {
	list := ops(batch)
	return retry(ctx, c.s, func(ctx context.Context, again bool) ([]Outcome, error) {
		if again { // each op must look for its own work: see alone
			return nil, errAlone
		}
		return c.b.Write(ctx, list, wait)
	})
}

// errAlone sends a batch's ops each on their own way.
var errAlone = errors.New("write each alone")

// answerFailed handles a batch that was not written as a whole: unless the
// database is away or busy, one op spoiled it, so each is tried alone.
func (c *combiner) answerFailed(batch []*request, err error) {
	unknown := errors.Is(err, errAlone)
	if !unknown && (len(batch) == 1 || errors.Is(err, ErrBusy) || errors.Is(err, ErrUnavailable)) {
		c.answer(batch, func(int) Outcome { return Outcome{Err: err} })
		return
	}
	c.answer(batch, func(i int) Outcome {
		r, err := c.s.alone(context.Background(), batch[i].op, unknown)
		return Outcome{r, err}
	})
}

// answer gives each request its outcome and lets its slot go. What could not
// be judged because another program has the slot locked is written aside.
func (c *combiner) answer(batch []*request, outcome func(i int) Outcome) {
	locked := map[int64][]*request{}
	var judged []*request
	for i, r := range batch {
		r.outcome = outcome(i)
		if err := r.outcome.Err; errors.Is(err, ErrTransient) && !errors.Is(err, ErrBusy) { // busy: given up for good
			locked[r.op.SlotID] = append(locked[r.op.SlotID], r)
			continue
		}
		judged = append(judged, r)
	}
	c.mu.Lock()
	for _, r := range judged {
		c.finish(r)
		if locked[r.op.SlotID] == nil {
			delete(c.taken, r.op.SlotID)
		}
	}
	c.work.Broadcast()
	c.mu.Unlock()
	for _, requests := range locked {
		c.writeAside(requests)
	}
}

// finish answers r, whose outcome is set. The hint that a slot is full follows
// from what was last seen.
func (c *combiner) finish(r *request) {
	switch {
	case errors.Is(r.outcome.Err, ErrSlotFull):
		if len(c.full) > 100_000 {
			clear(c.full)
		}
		c.full[r.op.SlotID] = struct{}{}
	case r.outcome.Err == nil && r.op.Action != ActConfirm:
		delete(c.full, r.op.SlotID)
	}
	c.wrote(r.op.SlotID)
	c.s.cfg.Observer.Waiting(-1)
	close(r.answered)
}

// writeAside writes the requests of one slot that is locked elsewhere, so that
// the other slots need not wait for it. The slot stays taken meanwhile.
func (c *combiner) writeAside(requests []*request) {
	c.done.Add(1)
	go func() {
		defer c.done.Done()
		ctx, cancel := patience(requests)
		defer cancel()
		if err := take(ctx, c.aside); err != nil {
			c.answer(requests, func(int) Outcome { return Outcome{Err: err} })
			return
		}
		defer func() { <-c.aside }()
		c.write(requests, true)
	}()
}

// takePeeks takes what waits before slots that seem full.
func (c *combiner) takePeeks() []*request {
	var batch []*request
	n := 0
	for ; n < len(c.peeks) && len(batch) < maxBatch; n++ {
		if r := c.peeks[n]; !c.dropped(r) {
			r.begun = true
			batch = append(batch, r)
		}
	}
	rest := copy(c.peeks, c.peeks[n:])
	clear(c.peeks[rest:])
	c.peeks = c.peeks[:rest]
	if len(batch) > 0 {
		c.peeking++
	}
	return batch
}

// peek refuses without a lock what can be refused so, and sends the rest to be
// written.
func (c *combiner) peek(batch []*request) {
	list := ops(batch)
	refusals, err := read(context.Background(), c.s, func(ctx context.Context) ([]error, error) {
		return c.b.Peek(ctx, list)
	})
	if err != nil {
		refusals = make([]error, len(batch)) // the write will meet the same and say it
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peeking--
	for i, r := range batch {
		if refusals[i] == nil {
			delete(c.full, r.op.SlotID)
			c.queueWrite(r)
			continue
		}
		r.outcome.Err = refusals[i]
		c.s.cfg.Observer.Waiting(-1)
		close(r.answered)
	}
	c.work.Broadcast()
}

// close lets the workers finish what waits and ends them.
func (c *combiner) close() {
	c.mu.Lock()
	c.closed = true
	c.work.Broadcast()
	c.mu.Unlock()
	c.done.Wait()
}
