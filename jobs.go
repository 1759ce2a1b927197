package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"slotkeeper/app"
	"slotkeeper/app/httpapi"
)

// jobs is what runs beside the requests.
type jobs struct {
	service *app.Service
	metrics *httpapi.Metrics
	log     *slog.Logger
	ctx     context.Context // ends with stop
	cancel  context.CancelFunc
	running sync.WaitGroup
}

func newJobs(service *app.Service, metrics *httpapi.Metrics, log *slog.Logger) *jobs {
	ctx, cancel := context.WithCancel(context.Background())
	return &jobs{service: service, metrics: metrics, log: log, ctx: ctx, cancel: cancel}
}

// every runs job now and then after each interval; never if that is 0.
func (j *jobs) every(interval time.Duration, job func(context.Context)) {
	if interval == 0 {
		return
	}
	j.running.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			job(j.ctx)
			select {
			case <-ticker.C:
			case <-j.ctx.Done():
				return
			}
		}
	})
}

// stop ends the jobs and waits for those at work.
func (j *jobs) stop() {
	j.cancel()
	j.running.Wait()
}

func (j *jobs) sweep(ctx context.Context) {
	freed, err := j.service.Sweep(ctx)
	if err != nil && ctx.Err() == nil {
		j.log.Warn("the sweep of expired holds failed", "error", err)
	}
	if freed > 0 {
		j.log.Info("swept expired holds", "freed", freed)
	}
}

func (j *jobs) check(ctx context.Context) {
	faults, err := j.service.Check(ctx)
	if err != nil {
		if ctx.Err() == nil {
			j.log.Warn("the check of the rows failed", "error", err)
		}
		return
	}
	overFull := 0
	for _, f := range faults {
		if f.Kind == app.FaultOverFull {
			overFull++
		}
		j.log.Error("the check of the rows found a fault", "kind", f.Kind, "detail", f.Detail)
	}
	j.metrics.SetOverbooked(overFull)
}
