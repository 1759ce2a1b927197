// Package app is what Slotkeeper is: slots with a capacity, reservations,
// resources and bookings, the rules they obey, the port to a database (Store)
// and the errors. It knows neither HTTP nor any database.
//
// A request goes handler → Service → Store → database. The database itself
// keeps each promise; Service checks values, bounds how many requests wait for
// one slot, collects those that wait (see combiner) and runs a transaction
// again that the database gave up.
package app

import (
	"context"
	"errors"
	"time"
)

// Config sets the bounds of a Service. Zero values get the defaults named.
type Config struct {
	CallTimeout time.Duration // of each request's database work; 5 s
	Retries     int           // further tries after a transient failure; 10
	PerSlot     int           // transactions at once for one slot; 2
	Writers     int           // transactions at once that write; 4
	Queue       int           // requests that may wait to be written; 4096
	Combine     bool          // write waiting requests together, where the Store can
	Batches     int           // batches of them written at once; 2, or as many as Writers
	Observer    Observer      // told what happens; may be nil
}

// Service is the product's use cases. All methods are safe for concurrent use
// and return the errors that the Store's method names, *ValidationError for
// bad values, ErrBusy where retries or waiting went past their bounds, and
// ErrUnavailable.
type Service struct {
	store    Store
	cfg      Config
	gate     *gate
	combiner *combiner // nil when requests are written one by one
}

// NewService returns a Service over store. Close ends it, not the store.
func NewService(store Store, cfg Config) *Service {
	cfg = cfg.withDefaults()
	s := &Service{store: store, cfg: cfg, gate: newGate(cfg.PerSlot, cfg.Writers, cfg.Queue)}
	if b, ok := store.(Batcher); ok && cfg.Combine {
		s.combiner = newCombiner(s, b)
	}
	return s
}

func (c Config) withDefaults() Config {
	if c.CallTimeout <= 0 {
		c.CallTimeout = 5 * time.Second
	}
	if c.Retries <= 0 {
		c.Retries = 10
	}
	if c.PerSlot <= 0 {
		c.PerSlot = 2
	}
	if c.Batches <= 0 {
		c.Batches = 2 // one is decided while the other waits for the disk
	}
	if c.Writers <= 0 {
		c.Writers = 4
	}
	c.PerSlot, c.Batches = min(c.PerSlot, c.Writers), min(c.Batches, c.Writers)
	if c.Queue <= 0 {
		c.Queue = 4096
	}
	if c.Observer == nil {
		c.Observer = silent{}
	}
	return c
}

// Close waits for what was accepted to be written and answered.
func (s *Service) Close() {
	if s.combiner != nil {
		s.combiner.close()
	}
}

// Ready says within a second whether the database answers with the schema
// that this program needs. Errors: ErrUnavailable.
func (s *Service) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	err := s.store.Ready(ctx)
	if err != nil && !errors.Is(err, ErrUnavailable) {
		err = errors.Join(ErrUnavailable, err)
	}
	return err
}

// Check counts again from the rows and returns what is broken. It has no
// bound of its own in time: a large table takes what it takes.
func (s *Service) Check(ctx context.Context) ([]Fault, error) {
	return s.store.Check(ctx)
}

// Sweep frees expired holds until none are left. Safe with many replicas.
func (s *Service) Sweep(ctx context.Context) (int, error) {
	const atOnce = 500 // keeps each transaction, and so its locks, short
	total := 0
	for {
		n, err := read(ctx, s, func(ctx context.Context) (int, error) { return s.store.Sweep(ctx, atOnce) })
		total += n
		if err != nil || n < atOnce {
			s.cfg.Observer.Swept(total)
			return total, err
		}
	}
}
