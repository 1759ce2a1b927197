package app

import (
	"context"
	"fmt"
	"sync"
)

// gate bounds how many transactions write at once, in all and for one key, so
// that a crowd before one slot leaves connections for the others and for reads.
type gate struct {
	perKey int
	all    chan struct{}
	queue  int

	mu      sync.Mutex
	waiting int
	keys    map[int64]*gateKey
}

type gateKey struct {
	tokens chan struct{}
	users  int // holders and waiters; the key is forgotten with the last
}

func newGate(perKey, all, queue int) *gate {
	return &gate{perKey: perKey, all: make(chan struct{}, all), queue: queue, keys: map[int64]*gateKey{}}
}

// enter waits for a place before key and returns what gives it back.
// Errors: ErrBusy at once when the queue is full, or when ctx ends first.
func (g *gate) enter(ctx context.Context, key int64) (leave func(), err error) {
	k, err := g.join(key)
	if err != nil {
		return nil, err
	}
	defer g.waited()
	// The key first: who waits before a crowded slot must not hold one of the
	// places that other slots use.
	if err := take(ctx, k.tokens); err != nil {
		g.part(key, k)
		return nil, err
	}
	if err := take(ctx, g.all); err != nil {
		<-k.tokens
		g.part(key, k)
		return nil, err
	}
	return func() {
		<-g.all
		<-k.tokens
		g.part(key, k)
	}, nil
}

func take(ctx context.Context, tokens chan struct{}) error {
	select {
	case tokens <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: no turn in time: %w", ErrBusy, context.Cause(ctx))
	}
}

func (g *gate) join(key int64) (*gateKey, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting >= g.queue {
		return nil, fmt.Errorf("%w: %d requests wait already", ErrBusy, g.waiting)
	}
	g.waiting++
	k := g.keys[key]
	if k == nil {
		k = &gateKey{tokens: make(chan struct{}, g.perKey)}
		g.keys[key] = k
	}
	k.users++
	return k, nil
}

func (g *gate) waited() {
	g.mu.Lock()
	g.waiting--
	g.mu.Unlock()
}

func (g *gate) part(key int64, k *gateKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(g.keys, key)
	}
}
