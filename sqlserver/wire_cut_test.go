package sqlserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"slotkeeper/app"
	"slotkeeper/tests/tds"
)

// What becomes of a write whose connection breaks: the store says that it does
// not know, and the service finds out, so that there is one row, not two or none.
var cuts = map[string]fault{
	"before anything was done": {reply: tds.Cut()},
	"after the commit":         {reply: tds.CutAfterCommit(), done: true},
	"behind the answer":        {reply: tds.Cut(), done: true, answered: true},
	"behind the error":         {reply: tds.Seq(tds.Throw(1, saidFull), tds.Cut())},
}

// Seen red with: outcome that only translates (ErrUnavailable: the service does
// not look again, and the client hears of a failure that was none); isBroken that
// does not know mssql.StreamError; rows.Err not asked for.
func TestWireCutIsUnknown(t *testing.T) {
	for name, f := range cuts {
		t.Run(name, func(t *testing.T) {
			s, d, srv := wired(t)
			for _, do := range []func(context.Context, app.Store) error{reserve, cancelReservation, book} {
				d.stumble(f)
				err := do(t.Context(), s)
				require.ErrorIs(t, err, app.ErrOutcomeUnknown)
				require.False(t, errors.Is(err, app.ErrTransient) || errors.Is(err, app.ErrUnavailable), "%v", err)
			}
			sound(t, s, srv)
			require.Equal(t, 2+3, srv.Stats().Logins, "each time one connection was lost, and only that one")
		})
	}
}

// Seen red with: the same; and with a run that sends the batch again when its
// connection broke (the desk sees it and the store forgets that it cannot know:
// ErrAlreadyReserved for alice's own place).
func TestWireServiceAfterCut(t *testing.T) {
	for name, f := range cuts {
		t.Run(name, func(t *testing.T) {
			s, d, srv := wired(t)
			service := app.NewService(s, app.Config{})
			d.stumble(f)
			r, err := service.Reserve(t.Context(), app.NewReservation{SlotID: 1, UserID: "alice"})
			require.NoError(t, err)
			require.Equal(t, map[string]int64{"alice": r.ID}, d.reservations())
			require.Equal(t, app.Confirmed, r.Status)

			again, err := service.Reserve(t.Context(), app.NewReservation{SlotID: 1, UserID: "alice"})
			require.ErrorIs(t, err, app.ErrAlreadyReserved, "another click is another request: %+v", again)

			d.stumble(f)
			require.NoError(t, service.Cancel(t.Context(), 1, "alice"))
			require.Empty(t, d.reservations())
			require.ErrorIs(t, service.Cancel(t.Context(), 1, "alice"), app.ErrReservationNotFound)

			d.stumble(f)
			require.ErrorIs(t, book(t.Context(), booker{s, service}), app.ErrUnavailable, "a booking has no key of its own to find it by")
			sound(t, s, srv)
		})
	}
}

// booker books through the service.
type booker struct {
	app.Store
	service *app.Service
}

func (b booker) Book(ctx context.Context, bs []app.NewBooking) ([]app.Booking, error) {
	return b.service.BookAll(ctx, bs)
}

// A fatal error ends the connection, and nobody knows before or after what.
// Seen red with: isBroken that does not know mssql.ServerError.
func TestWireFatalError(t *testing.T) {
	s, d, srv := wired(t)
	d.stumble(fault{reply: tds.Fatal(596, "The session is being ended.")}, fault{reply: tds.Fatal(1, "Another.")})
	for range 2 {
		err := reserve(t.Context(), s)
		require.True(t, errors.Is(err, app.ErrUnavailable) || errors.Is(err, app.ErrOutcomeUnknown), "%v", err)
	}
	sound(t, s, srv)
	require.Equal(t, 4, srv.Stats().Logins)
}

// Seen red with: 1205, 1222 or 3960 not known.
func TestWireServiceRetriesTransient(t *testing.T) {
	s, d, srv := wired(t)
	service := app.NewService(s, app.Config{Retries: 3})
	conflicts := []fault{{reply: tds.Deadlock()}, {reply: tds.Seq(tds.LockTimeout(), tds.TransactionRolledBack())}, {reply: tds.UpdateConflict()}}
	d.stumble(conflicts...)
	r, err := service.Reserve(t.Context(), app.NewReservation{SlotID: 1, UserID: "alice"})
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"alice": r.ID}, d.reservations())

	d.stumble(append(conflicts, conflicts...)...)
	_, err = service.Reserve(t.Context(), app.NewReservation{SlotID: 1, UserID: "bob"})
	require.ErrorIs(t, err, app.ErrBusy)
	d.stumble()
	sound(t, s, srv)
	require.Equal(t, 2, srv.Stats().Logins)
}

// The server dropped what lay idle in the pool: requests notice and go on. Where
// nothing could be sent, the store itself knows that nothing was done.
// Seen red with: the same as TestWireCutIsUnknown; and with a run that does not
// try the next connection.
func TestWireIdleConnectionsDropped(t *testing.T) {
	s, d, srv := wired(t)
	service := app.NewService(s, app.Config{})
	for n := range 3 {
		srv.CutAll()
		user := fmt.Sprint("user ", n)
		r, err := service.Reserve(t.Context(), app.NewReservation{SlotID: 1, UserID: user})
		require.NoError(t, err)
		require.Equal(t, d.reservations()[user], r.ID)
	}
	sound(t, s, srv) // both connections are in use
	srv.ResetAll()
	require.NoError(t, reserve(t.Context(), s))
	sound(t, s, srv)
}

// Seen red with: translate without connectError (18488 is a plain error then);
// notSent left out (the outcome is called unknown).
func TestWireLoginRefused(t *testing.T) {
	refusals := []tds.Reply{
		tds.LoginFailed(), tds.DatabaseMissing(), tds.Cut(),
		tds.Error(40613, 1, 14, "The database is not currently available.", "", 1),
		tds.Error(18488, 1, 14, "The password of the account must be changed.", "", 1),
	}
	for _, r := range refusals {
		s, d, srv := wired(t)
		service := app.NewService(s, app.Config{})
		s.db.SetMaxIdleConns(0) // the next request needs a new connection
		s.db.SetMaxIdleConns(2)
		srv.RefuseLogins(r)
		err := reserve(t.Context(), s)
		require.ErrorIs(t, err, app.ErrUnavailable)
		require.False(t, errors.Is(err, app.ErrOutcomeUnknown), "nothing was sent")
		_, err = service.Reserve(t.Context(), app.NewReservation{SlotID: 1, UserID: "alice"})
		require.ErrorIs(t, err, app.ErrUnavailable)
		require.ErrorIs(t, s.Ready(t.Context()), app.ErrUnavailable)
		require.Empty(t, d.reservations())
		_, err = Open(t.Context(), srv.DSN(), Options{Logger: slog.New(slog.DiscardHandler)})
		require.ErrorIs(t, err, app.ErrUnavailable)

		srv.AllowLogins()
		sound(t, s, srv)
	}
}

func TestWireServerGone(t *testing.T) {
	s, _, srv := wired(t)
	srv.Close()
	service := app.NewService(s, app.Config{})
	_, err := service.Reserve(t.Context(), app.NewReservation{SlotID: 1, UserID: "alice"})
	require.ErrorIs(t, err, app.ErrUnavailable)
	_, err = Open(t.Context(), srv.DSN(), Options{Logger: slog.New(slog.DiscardHandler)})
	require.ErrorIs(t, err, app.ErrUnavailable)
	require.Zero(t, s.db.Stats().InUse)
}

// A statement that waits for ever: the caller's patience ends it, the server is
// told, and the transaction does not outlive it.
// Seen red with: context errors dropped from outcome (the client is told "busy,
// nothing was written", which nobody knows).
func TestWireAttention(t *testing.T) {
	for name, r := range map[string]tds.Reply{"confirmed": tds.Hang(), "broken": tds.HangThenCut()} {
		t.Run(name, func(t *testing.T) {
			s, d, srv := wired(t)
			d.stumble(fault{reply: r}, fault{reply: r}, fault{reply: r})
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, reserve(ctx, s), app.ErrOutcomeUnknown)

			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
			require.ErrorIs(t, reserve(ctx, s), app.ErrOutcomeUnknown)

			service := app.NewService(s, app.Config{CallTimeout: 50 * time.Millisecond})
			require.ErrorIs(t, reserveThrough(t.Context(), service), app.ErrUnavailable)
			require.Equal(t, 3, srv.Stats().Attentions)
			sound(t, s, srv)
		})
	}
}

func reserveThrough(ctx context.Context, service *app.Service) error {
	_, err := service.Reserve(ctx, app.NewReservation{SlotID: 1, UserID: "alice"})
	return err
}

// Many at once, while connections break and transactions collide: each user has
// one place in the end, and the pool both of its connections.
func TestWireStormOfFaults(t *testing.T) {
	s, d, srv := wired(t)
	var faults []fault
	for range 8 {
		faults = append(faults, fault{reply: tds.Deadlock()}, cuts["after the commit"], cuts["before anything was done"],
			fault{reply: tds.Seq(tds.LockTimeout(), tds.TransactionRolledBack())}, cuts["behind the error"])
	}
	d.stumble(faults...)
	service := app.NewService(s, app.Config{Retries: 40, CallTimeout: time.Minute})
	const users = 30
	got := make([]app.Reservation, users)
	var all sync.WaitGroup
	for n := range users {
		all.Go(func() {
			var err error
			got[n], err = service.Reserve(t.Context(), app.NewReservation{SlotID: 1, UserID: fmt.Sprint("user ", n)})
			var server mssql.Error
			if err != nil {
				t.Errorf("user %d: %v (%v)", n, err, errors.As(err, &server))
			}
		})
	}
	all.Wait()
	live := d.reservations()
	require.Len(t, live, users)
	for _, r := range got {
		require.Equal(t, live[r.UserID], r.ID)
	}
	sound(t, s, srv)
}
