package app

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"
)

// Backoff between tries: a random part of a span that doubles up to a bound,
// so that transactions that collided do not meet again at the same moment.
const (
	firstBackoff = 2 * time.Millisecond
	maxBackoff   = 100 * time.Millisecond
)

// retry runs the whole transaction try again while the database gives it up
// or its outcome is unknown, within the configured bounds. again is true on a
// try that follows an unknown outcome: what try finds done may be its own work.
func retry[T any](ctx context.Context, s *Service, try func(ctx context.Context, again bool) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	again, backoff := false, firstBackoff
	for n := 0; ; n++ {
		v, err := guarded(func() (T, error) { return try(ctx, again) })
		unknown := errors.Is(err, ErrOutcomeUnknown)
		if !unknown && !errors.Is(err, ErrTransient) {
			return v, stillUnknown(giveUp(err), again)
		}
		again = again || unknown
		if n == s.cfg.Retries || !pause(ctx, rand.N(backoff)) {
			var zero T
			return zero, stillUnknown(giveUp(err), again)
		}
		s.cfg.Observer.Retried(reasonOf(err))
		backoff = min(2*backoff, maxBackoff)
	}
}

// guarded makes a panic an error: what is written for many clients must not
// end with one of them, nor leave the others waiting.
func guarded[T any](try func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return try()
}

// giveUp turns what only a retry could have mended into what a client is
// told, and keeps the cause.
func giveUp(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrOutcomeUnknown):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case errors.Is(err, ErrTransient),
		errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUnavailable):
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}

// stillUnknown keeps "busy", which says that nothing was written, from who had
// an unknown outcome before and did not get to look.
func stillUnknown(err error, unknown bool) error {
	if unknown && errors.Is(err, ErrBusy) {
		return fmt.Errorf("%w: %s", ErrUnavailable, err.Error()) // no longer ErrBusy to anyone
	}
	return err
}

// pause waits for d and says whether ctx outlasted it.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// read runs a transaction that changes nothing, or may be repeated without
// looking for its own work.
func read[T any](ctx context.Context, s *Service, try func(ctx context.Context) (T, error)) (T, error) {
	return retry(ctx, s, func(ctx context.Context, _ bool) (T, error) { return try(ctx) })
}

// once runs a transaction whose repetition after an unknown outcome would not
// recognise its own work: the client is told, and may look for itself.
func once[T any](ctx context.Context, s *Service, try func(ctx context.Context) (T, error)) (T, error) {
	return retry(ctx, s, func(ctx context.Context, _ bool) (T, error) {
		v, err := try(ctx)
		if errors.Is(err, ErrOutcomeUnknown) {
			err = fmt.Errorf("%w: %s", ErrUnavailable, err.Error()) // no longer unknown: it is not run again
		}
		return v, err
	})
}
