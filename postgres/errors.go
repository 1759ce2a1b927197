package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"slotkeeper/app"
)

// errDSN never quotes the DSN: it may hold a password.
var errDSN = errors.New("the Postgres DSN is not valid: write postgres://user:password@host:5432/database")

// refusals by constraint name: the unique index, the CHECKs and the exclusion
// constraints of the migrations.
var refusals = map[string]error{
	"reservations_one_each":   app.ErrAlreadyReserved,
	"slots_capacity":          app.ErrSlotFull,
	"reservations_slot":       app.ErrSlotNotFound,
	"resources_key":           app.ErrResourceExists,
	"no_overlapping_slots":    app.ErrSlotOverlap,
	"no_slot_over_booking":    app.ErrSlotOverlap,
	"no_overlapping_bookings": app.ErrResourceBusy,
	"no_booking_over_slot":    app.ErrResourceBusy,
}

// translate turns the server's or the driver's error into the app's, by
// SQLSTATE and constraint name, and keeps it as a further cause.
func translate(err error) error {
	if err == nil {
		return nil
	}
	meaning := meaningOf(err)
	if meaning == nil {
		return err
	}
	return fmt.Errorf("%w: %w", meaning, err)
}

func meaningOf(err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return meaningOfDriver(err)
	}
	switch pg.Code {
	case "40001":
		return app.ReasonSerialization
	case "40P01":
		return app.ReasonDeadlock
	case "55P03":
		return app.ReasonLockTimeout
	case "57P01", "57P02": // this session was ended: another may serve, or connecting will tell
		return app.ReasonConnection
	case "57P03": // starting up or ending
		return app.ErrUnavailable
	case "23505", "23514", "23503", "23P01":
		return refusals[pg.ConstraintName]
	}
	meaning := meaningOfState(pg.Code)
	if meaning == nil && errors.As(err, new(*pgconn.ConnectError)) {
		return app.ErrUnavailable // whatever the reason to let nobody in, such as 55000
	}
	return meaning
}

// meaningOfState is meaningOf for what is no conflict but the server's state.
func meaningOfState(code string) error {
	switch code {
	case "57014", "57P05", "25P03", "25P04": // a statement, session or transaction that the server's own time-outs or an administrator ended
		return app.ErrTransient
	case "3D000", "57P04", "25006": // no such database, dropped just now, a standby that only reads
		return app.ErrUnavailable
	}
	switch code[:min(2, len(code))] {
	case "08", "28", "53", "58": // broken connection, refused login, no memory, disk or connection left, the disk fails
		return app.ErrUnavailable
	}
	return nil
}

// meaningOfDriver is meaningOf for what no server said. A connection that broke
// before COMMIT was sent (after it, see afterCommit) took its transaction with
// it, and the pool has others.
func meaningOfDriver(err error) error {
	var connect *pgconn.ConnectError
	switch {
	case errors.As(err, &connect):
		return app.ErrUnavailable
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return app.ErrBusy
	case pgconn.SafeToRetry(err) || isNetwork(err):
		return app.ReasonConnection
	}
	return nil
}

// afterCommit is translate for an error met once COMMIT was sent: without the
// server's own word the outcome is unknown.
func afterCommit(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && !lostSession(pg.Code) {
		return translate(err)
	}
	// pgx says "conn closed", as if nothing had been sent, also of a connection
	// that broke while it waited for the answer.
	if pgconn.SafeToRetry(err) && !errors.Is(err, pgconn.ErrConnClosed) {
		return translate(err)
	}
	return fmt.Errorf("%w: %w", app.ErrOutcomeUnknown, err)
}

// lostSession: the server ended the session and may have committed before.
func lostSession(code string) bool {
	return code == "57P01" || code == "57P02" || code == "57P05" || strings.HasPrefix(code, "08")
}
