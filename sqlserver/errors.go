package sqlserver

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	mssql "github.com/microsoft/go-mssqldb"

	"slotkeeper/app"
)

// refusalNumber is that of our triggers' errors, and of everyone's RAISERROR:
// state and the start of the message, which are ours, tell them apart.
const refusalNumber = 50000

// The states of our triggers' errors, and how their messages begin.
var triggerRefusals = map[uint8]struct {
	prefix string
	err    error
}{
	1: {"slotkeeper/slot-full:", app.ErrSlotFull},
	2: {"slotkeeper/resource-busy:", app.ErrResourceBusy},
	3: {"slotkeeper/capacity-below-reserved:", nil}, // carries a number, see refusalOf
	4: {"slotkeeper/slot-overlap:", app.ErrSlotOverlap},
}

// constraintRefusals are what our constraints and unique indexes mean. The
// server names them in quotes, in whatever language the sentence is.
var constraintRefusals = map[string]error{
	"reservations_one_each": app.ErrAlreadyReserved,
	"resources_key":         app.ErrResourceExists,
	"nights_once":           app.ErrResourceBusy,
	"slots_ref":             app.ErrTransient, // another program has just created it: look again
	"reservations_slot":     app.ErrSlotNotFound,
	"slots_resource":        app.ErrResourceNotFound,
	"bookings_place":        app.ErrResourceNotFound,
	"bookings_thing":        app.ErrResourceNotFound,
	"nights_resource":       app.ErrResourceNotFound,
}

// numbers are errors of the server's own. A deadlock, a snapshot conflict, a
// lock time-out and a server without room for locks end the transaction; the
// others say that the database cannot be reached or cannot take work.
var numbers = map[int32]error{
	1205: app.ReasonDeadlock, 3960: app.ReasonSerialization, 1222: app.ReasonLockTimeout, 1204: app.ReasonOther,

	40613: app.ErrUnavailable, 40197: app.ErrUnavailable, 40501: app.ErrUnavailable,
	49918: app.ErrUnavailable, 49919: app.ErrUnavailable, 49920: app.ErrUnavailable,
	10928: app.ErrUnavailable, 10929: app.ErrUnavailable,
	4060: app.ErrUnavailable, 4064: app.ErrUnavailable, 18456: app.ErrUnavailable,
	596: app.ErrUnavailable, 6005: app.ErrUnavailable, 983: app.ErrUnavailable,
}

// translate turns what the driver said into the app's errors, and keeps it as a
// further cause. It is nil for nil and leaves what it does not know as it is.
func translate(err error) error {
	var server mssql.Error
	switch {
	case err == nil || isOurs(err):
		return err
	case errors.As(err, new(connectError)):
		return fmt.Errorf("%w: %w", app.ErrUnavailable, err)
	case errors.As(err, &server):
		if meaning := meaningOf(server); meaning != nil {
			return fmt.Errorf("%w: %w", meaning, err)
		}
	}
	if isBroken(err) {
		return fmt.Errorf("%w: %w", app.ErrUnavailable, err)
	}
	return err
}

// outcome is translate for a batch that commits: what the server did not answer
// may have been done.
func outcome(err error) error {
	var server mssql.Error
	unsent := errors.As(err, new(notSent)) || errors.Is(err, driver.ErrBadConn)
	gone := isBroken(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	if gone && !unsent && !errors.As(err, &server) {
		return fmt.Errorf("%w: %w", app.ErrOutcomeUnknown, err)
	}
	return translate(err)
}

func isOurs(err error) bool {
	for _, known := range []error{app.ErrTransient, app.ErrUnavailable, app.ErrOutcomeUnknown, app.ErrUnsupported} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// meaningOf reads all that the server said, from the first on: behind a
// trigger's ROLLBACK it adds 3609, and a ROLLBACK or COMMIT of ours gets 3903
// or 3902, none of which is the cause.
func meaningOf(e mssql.Error) error {
	said := e.All
	if len(said) == 0 {
		said = []mssql.Error{e}
	}
	for _, one := range said {
		if meaning := refusalOf(one); meaning != nil {
			return meaning
		}
	}
	return nil
}

func refusalOf(e mssql.Error) error {
	switch e.Number {
	case refusalNumber:
		r, known := triggerRefusals[e.State]
		if !known || !strings.HasPrefix(e.Message, r.prefix) {
			return nil // some other program's trigger
		}
		if r.err == nil {
			return &app.CapacityBelowReservedError{Reserved: reservedIn(e.Message)}
		}
		return r.err
	case 2601, 2627, 547:
		meaning := constraintRefusals[constraintIn(e.Message)]
		if e.Number == 547 && errors.Is(meaning, app.ErrSlotNotFound) && deletes(e.Message) {
			return app.ErrSlotHasReservations
		}
		return meaning
	}
	return numbers[e.Number]
}

// constraintIn returns the first of our names that the sentence quotes, "" if
// none. What stands in parentheses is not ours: the duplicate value, which a
// client chose. Compatible servers write the table and a hash behind an index's
// name.
func constraintIn(message string) string {
	message, _, _ = strings.Cut(message, "(")
	for _, m := range quotedName.FindAllStringSubmatch(message, -1) {
		for name := range constraintRefusals {
			table, hashed := strings.CutPrefix(hash.ReplaceAllString(m[1], ""), name)
			if m[1] == name || hashed && hash.MatchString(m[1]) && strings.HasPrefix(name, table+"_") {
				return name
			}
		}
	}
	return ""
}

var (
	quotedName = regexp.MustCompile(`['"]([a-z0-9_]+)['"]`)
	hash       = regexp.MustCompile(`[0-9a-f]{32}$`)
)

// deletes tells the two directions of a foreign key apart: SQL keywords are the
// same in every language of the server.
func deletes(message string) bool { return strings.Contains(message, "DELETE") }

var reservedNumber = regexp.MustCompile(`reserved=(\d+)`)

func reservedIn(message string) int {
	if m := reservedNumber.FindStringSubmatch(message); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

// isBroken says whether the connection, not the statement, failed.
func isBroken(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || errors.As(err, new(mssql.StreamError)) || errors.As(err, new(mssql.ServerError)) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
