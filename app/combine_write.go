package app

import (
	"context"
	"errors"
	"time"
)

// writeNow writes a batch that waits for no slot, and so tells how long one takes.
func (c *combiner) writeNow(batch []*request) {
	began := time.Now()
	c.write(batch, false)
	c.mu.Lock()
	c.pace = min(time.Since(began), c.s.cfg.CallTimeout/4)
	c.mu.Unlock()
}

// write writes a batch and answers its requests. wait is that of Batcher.Write.
func (c *combiner) write(batch []*request, wait bool) {
	c.s.cfg.Observer.Batch(len(batch))
	turn := time.Now()
	ctx, cancel := patience(batch)
	defer cancel()
	ctx, locks := withLockWait(ctx)
	outcomes, err := c.try(ctx, batch, wait)
	for _, r := range batch {
		r.waited = turn.Sub(r.since) + locks.total()
	}
	if err == nil {
		c.answer(batch, func(i int) Outcome { return outcomes[i] })
		return
	}
	c.answerFailed(ctx, batch, err)
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
func (c *combiner) answerFailed(ctx context.Context, batch []*request, err error) {
	unknown := errors.Is(err, errAlone)
	if !unknown && (len(batch) == 1 || errors.Is(err, ErrBusy) || errors.Is(err, ErrUnavailable)) {
		c.answer(batch, func(int) Outcome { return Outcome{Err: err} })
		return
	}
	c.answer(batch, func(i int) Outcome {
		r, err := c.s.alone(ctx, batch[i].op, unknown) // one after the other, so all in the time that is left
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
	c.start() // what waited for these slots
	c.mu.Unlock()
	for _, requests := range locked {
		c.s.cfg.Observer.Retried(ReasonLocked)
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
			for _, r := range requests {
				r.waited = time.Since(r.since)
			}
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
	for ; n < len(c.peeks.queue) && len(batch) < maxBatch; n++ {
		if r := c.peeks.queue[n]; !c.dropped(r) {
			r.begun = true
			batch = append(batch, r)
		}
	}
	rest := copy(c.peeks.queue, c.peeks.queue[n:])
	clear(c.peeks.queue[rest:])
	c.peeks.queue = c.peeks.queue[:rest]
	return batch
}

// peek refuses without a lock what can be refused so, and sends the rest to be
// written.
func (c *combiner) peek(batch []*request) {
	turn := time.Now()
	list := ops(batch)
	ctx, cancel := patience(batch)
	defer cancel()
	refusals, err := read(ctx, c.s, func(ctx context.Context) ([]error, error) {
		return c.b.Peek(ctx, list)
	})
	if err != nil {
		refusals = make([]error, len(batch)) // the write will meet the same and say it
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, r := range batch {
		if refusals[i] == nil {
			delete(c.full, r.op.SlotID)
			r.begun = false // its client may leave again
			c.queueWrite(r)
			continue
		}
		r.outcome.Err, r.waited = refusals[i], turn.Sub(r.since)
		c.s.cfg.Observer.Waiting(-1)
		close(r.answered)
	}
}
