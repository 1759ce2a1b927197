package engines

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// kind is what the engines that have servers differ in.
type kind struct {
	name string
	ways []way // in the order they are tried

	probe  func(ctx context.Context, dsn string) (version string, err error) // logs in once
	create func(ctx context.Context, dsn, database string) error
	drop   func(ctx context.Context, dsn, database string) error
	in     func(dsn, database string) string // the same server, another database
}

// way is one way to get a server.
type way struct {
	advice string // what somebody does to have it, for the text of a skip
	get    func(context.Context) (*server, error)
}

// server is a running database server on which tests may make databases.
type server struct {
	dsn     string   // a login that may create databases
	how     string   // how it was had, for people; holds no password
	version string   // the server's own word
	stop    func()   // ends what was started for the tests; nil when it is not ours
	missed  []string // why the ways before this one gave none
}

var (
	// errNotGiven is the answer of the first way where its variable is not set.
	errNotGiven = errors.New("not set")
	// errUnusable ends the search: somebody named a server and meant it, so the
	// tests must not run on another one in silence.
	errUnusable = errors.New("the server that the environment names cannot be used")
)

// unavailableError says that no way gave a server.
type unavailableError struct {
	engine string
	advice []string
	missed []string // as long as advice
}

// Error is one line, for the table at the end of a run.
func (e *unavailableError) Error() string { return strings.Join(e.missed, "; ") }

// Advice is the text of a skip: every way to get the engine, and how it failed.
func (e *unavailableError) Advice() string {
	text := fmt.Sprintf("no %s for this test; any one of these gives it one:", e.engine)
	for i := range e.advice {
		text += fmt.Sprintf("\n  - %s\n      now: %s", e.advice[i], e.missed[i])
	}
	return text
}

// search tries the ways in their order and returns the first server.
// It returns *unavailableError where there is none, and errUnusable where the
// environment names a server that does not answer.
func (k kind) search(ctx context.Context) (*server, error) {
	none := &unavailableError{engine: k.name}
	for _, w := range k.ways {
		found, err := w.get(ctx)
		if err == nil {
			found.missed = none.missed
			return found, nil
		}
		if errors.Is(err, errUnusable) || ctx.Err() != nil {
			return nil, err
		}
		none.advice = append(none.advice, w.advice)
		none.missed = append(none.missed, oneLine(err))
	}
	return nil, none
}

// fromEnvironment is the way of a DSN in a variable.
func fromEnvironment(env environment, variable string, schemes []string, k kind) way {
	example := fmt.Sprintf("%s=%s://user:password@host:port/", variable, schemes[0])
	get := func(ctx context.Context) (*server, error) {
		dsn := env.getenv(variable)
		if dsn == "" {
			return nil, fmt.Errorf("%s is %w", variable, errNotGiven)
		}
		address, err := url.Parse(dsn)
		if err != nil || !slices.Contains(schemes, address.Scheme) {
			// The parser's message quotes the DSN and so its password.
			return nil, fmt.Errorf("%s: %w: it is no URL like %s", variable, errUnusable, example)
		}
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		version, err := k.probe(ctx, dsn)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %w", variable, errUnusable, err)
		}
		return &server{dsn: dsn, how: variable + " at " + address.Host, version: version}, nil
	}
	return way{advice: "set " + example + " to a login that may create databases", get: get}
}

// waitForLogin logs in again and again until it succeeds and returns the
// server's version. It gives up when ctx ends or ended is closed, that is when
// the server has stopped by itself. A server tells nobody when it is ready, so
// asking is all there is.
func waitForLogin(ctx context.Context, k kind, dsn string, ended <-chan struct{}) (string, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		attempt, cancel := context.WithTimeout(ctx, 5*time.Second)
		version, err := k.probe(attempt, dsn)
		cancel()
		if err == nil {
			return version, nil
		}
		select {
		case <-ended:
			return "", errEndedEarly
		case <-ctx.Done():
			return "", fmt.Errorf("it accepts no login: %w", err)
		case <-tick.C:
		}
	}
}

var errEndedEarly = errors.New("it ended before it accepted a login")

// oneLine shortens an error to something that a table can show.
func oneLine(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if runes := []rune(text); len(runes) > 300 {
		text = string(runes[:300]) + "…"
	}
	return text
}
