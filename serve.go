package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"
	"time"

	"slotkeeper/adapters"
	"slotkeeper/app"
	"slotkeeper/app/httpapi"
)

type serveCmd struct {
	servedFlags
	migrateFlag
	logFlags
	Listen          string        `default:"127.0.0.1:8080" help:"Address to listen on; port 0 takes a free one."`
	PublicURL       string        `name:"public-url" help:"How clients reach the service, such as https://slots.example.org; without it each request's Host says."`
	Combine         bool          `default:"true" negatable:"" help:"Write waiting requests together, each still judged on its own."`
	BodyLimit       int           `default:"65536" help:"Largest request body in bytes."`
	ReadTimeout     time.Duration `default:"10s" help:"Bound of reading a request."`
	WriteTimeout    time.Duration `default:"10s" help:"Bound of writing an answer."`
	DrainDelay      time.Duration `default:"1s" help:"At the end, how long /readyz says 503 before no more connections are taken, so that a balancer sees it."`
	ShutdownTimeout time.Duration `default:"15s" help:"At the end, how long accepted requests may take, with the drain delay."`
	SweepInterval   time.Duration `default:"1m" help:"How often expired holds are swept; 0 is never: they count as free anyway."`
	CheckInterval   time.Duration `default:"10m" help:"How often the rows are counted again for the metric of over-full slots; 0 is never."`
}

func (c *serveCmd) validate() error {
	if c.BodyLimit <= 0 {
		return fmt.Errorf("--body-limit is %d: use a number of bytes above 0, such as 65536", c.BodyLimit)
	}
	if c.DrainDelay >= c.ShutdownTimeout && c.ShutdownTimeout > 0 {
		return fmt.Errorf("--drain-delay %v leaves nothing of --shutdown-timeout %v: make the delay shorter", c.DrainDelay, c.ShutdownTimeout)
	}
	return errors.Join(
		positive("--read-timeout", c.ReadTimeout), positive("--write-timeout", c.WriteTimeout),
		positive("--shutdown-timeout", c.ShutdownTimeout), notNegative("--drain-delay", c.DrainDelay),
		notNegative("--sweep-interval", c.SweepInterval), notNegative("--check-interval", c.CheckInterval),
		validateListen(c.Listen), validatePublicURL(c.PublicURL), c.servedFlags.validate())
}

// Run serves until a signal.
func (c *serveCmd) Run(p *program) error {
	log, err := c.logger(p.stderr)
	if err := errors.Join(err, c.validate()); err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	listener, err := listen(ctx, c.Listen)
	if err != nil {
		return err
	}
	defer listener.Close() // harmless after Serve, which closes it
	store, err := c.open(ctx, log, c.Migrate)
	if err != nil {
		return err
	}
	metrics := httpapi.NewMetrics()
	cfg := c.appConfig(c.Combine)
	cfg.Observer = metrics
	service := app.NewService(store, cfg)
	server, err := httpapi.New(service, httpapi.Options{
		Logger: log, PublicURL: c.PublicURL, BodyLimit: c.BodyLimit, Metrics: metrics,
		ReadTimeout: c.ReadTimeout, WriteTimeout: c.WriteTimeout, DrainDelay: c.DrainDelay,
	})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	log.Info("serving", "address", "http://"+listener.Addr().String(), "database", adapters.Redact(c.DB))

	jobs := newJobs(service, metrics, log)
	jobs.every(c.SweepInterval, jobs.sweep)
	jobs.every(c.CheckInterval, jobs.check)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended: // of itself: the listener broke
		return foundError{fmt.Errorf("no longer serving: %w", err)}
	case <-ctx.Done():
	}
	return c.shutDown(log, server, func() error {
		jobs.stop()
		service.Close()
		return store.Close()
	})
}

// shutDown answers what was accepted, then ends what is below, all within the
// bound.
func (c *serveCmd) shutDown(log *slog.Logger, server *httpapi.Server, end func() error) error {
	log.Info("shutting down: a second signal ends at once", "within", c.ShutdownTimeout.String())
	ctx, cancel := context.WithTimeout(context.Background(), c.ShutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return foundError{fmt.Errorf("requests were cut off after %v: %w", c.ShutdownTimeout, err)}
	}
	done := make(chan error, 1)
	go func() { done <- end() }()
	select {
	case err := <-done:
		if err != nil {
			return foundError{fmt.Errorf("close the database: %w", err)}
		}
	case <-ctx.Done():
		return foundError{fmt.Errorf("the database was still at work after %v", c.ShutdownTimeout)}
	}
	log.Info("ended")
	return nil
}

// listen takes the address; connections wait until the database is open.
func listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use: end the program that has it, or choose another with --listen", address)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w: choose another with --listen", address, err)
	}
	return l, nil
}
