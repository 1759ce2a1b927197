package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/jackc/pgx/v5"
)

const readyTimeout = time.Minute

// Server is the running server of a cluster.
type Server struct {
	Ended <-chan struct{} // closed when it has ended

	cmd *exec.Cmd
	log Tail
}

// Start starts the server and returns when it takes a login. It ends with this
// process.
func (c *Cluster) Start(ctx context.Context, settings ...string) (*Server, error) {
	args, err := c.Arguments(settings...)
	if err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	s := &Server{Ended: ended, cmd: c.Command(context.WithoutCancel(ctx), "postgres", args...)}
	endWithUs(s.cmd)
	s.cmd.Stderr = &s.log
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(ended)
		_ = s.cmd.Wait() // the log tells more than the status
	}()
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := c.login(ctx, ended); err != nil {
		s.Crash()
		return nil, fmt.Errorf("%w; its log ends: %s", err, s.log.String())
	}
	return s, nil
}

// login waits for one that succeeds.
func (c *Cluster) login(ctx context.Context, ended <-chan struct{}) error {
	for {
		conn, err := pgx.Connect(ctx, c.DSN("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ended:
			return errors.New("the server ended")
		case <-ctx.Done():
			return fmt.Errorf("the server takes no login: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop ends the server as one that is shut down: what was committed is written.
func (s *Server) Stop() { s.end(fast) }

// Crash ends it at once, as pg_ctl's "immediate": nothing is finished.
func (s *Server) Crash() { s.end(immediate) }

func (s *Server) end(how os.Signal) {
	_ = s.cmd.Process.Signal(how) // it may have ended
	<-s.Ended
}
