// Package api tests the whole service over HTTP, as a client meets it: real
// connections, a real database, and each answer held against the OpenAPI
// document.
package api

import (
	"context"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"slotkeeper/adapters"
	"slotkeeper/app"
	"slotkeeper/app/httpapi"
	"slotkeeper/tests/api/contract"
	"slotkeeper/tests/engines"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { os.Exit(engines.Main(m)) }

// desk is a running service over a database of its own.
type desk struct {
	*testing.T
	url string
	svc *app.Service

	mu       sync.Mutex // the validator is not known to be safe for many
	contract *contract.Contract
}

// everywhere runs a test on each engine that is to be had.
func everywhere(t *testing.T, test func(d *desk)) {
	for name, database := range map[string]func(testing.TB) string{
		"sqlite":    engines.SQLite,
		"postgres":  engines.Postgres,
		"sqlserver": engines.SQLServer,
	} {
		t.Run(name, func(t *testing.T) { test(newDesk(t, database(t))) })
	}
}

// newDesk serves as the program does: waiting requests are written together.
func newDesk(t *testing.T, dsn string) *desk {
	metrics := httpapi.NewMetrics()
	writers, perSlot := adapters.Bounds(dsn, 0, true)
	store := open(t, dsn)
	svc := app.NewService(store, app.Config{Combine: true, Writers: writers, PerSlot: perSlot, CallTimeout: 20 * time.Second, Observer: metrics})
	srv, err := httpapi.New(svc, httpapi.Options{Metrics: metrics})
	require.NoError(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	d := &desk{T: t, url: "http://" + ln.Addr().String(), svc: svc}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, srv.Shutdown(ctx))
		require.NoError(t, <-served)
		svc.Close()
		require.NoError(t, store.Close())
	})
	c := d.caller()
	document := c.do("GET", "/openapi.json", "")
	d.contract, err = contract.New([]byte(document.body))
	require.NoError(t, err)
	return d
}

// open makes the schema of a new database and opens it.
func open(t *testing.T, dsn string) app.Store {
	_, err := adapters.Up(t.Context(), dsn)
	require.NoError(t, err)
	store, err := adapters.Open(t.Context(), dsn, adapters.Options{CallTimeout: 20 * time.Second})
	require.NoError(t, err)
	return store
}

// sound requires that the database, counted row by row, is as it should be.
func (d *desk) sound() {
	d.Helper()
	faults, err := d.svc.Check(d.Context())
	require.NoError(d, err)
	require.Empty(d, faults)
}
