package sqlserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

// Seen red with: strings.Contains of each name in place of what stands in quotes
// (a user named nights_once is a night, and old_ and _2 pass).
func TestConstraintIn(t *testing.T) {
	for message, want := range map[string]string{
		"Cannot insert duplicate key row in object 'dbo.reservations' with unique index 'reservations_one_each'. The duplicate key value is (1, 'nights_once').": "reservations_one_each",
		"Violation of UNIQUE KEY constraint 'resources_key'. Cannot insert duplicate key in object 'dbo.resources'.":                                             "resources_key",
		`duplicate key value violates unique constraint "nights_oncenights820dae98793ed2c29b418d86c606a61d"`:                                                     "nights_once",
		`duplicate key value violates unique constraint "nights_onceother820dae98793ed2c29b418d86c606a61d"`:                                                      "",
		"… unique index 'old_reservations_one_each'.":                                                                                                            "",
		"… unique index 'reservations_one_each_2'.":                                                                                                              "",
		"The INSERT statement conflicted with the FOREIGN KEY constraint \"bookings_place\".":                                                                    "bookings_place",
		"nothing quoted": "",
	} {
		require.Equal(t, want, constraintIn(message), message)
	}
}

// Seen red with: outcome that is translate.
func TestOutcome(t *testing.T) {
	full := mssql.Error{Number: 50000, State: 1, Message: "slotkeeper/slot-full: slot 1 has capacity 1"}
	for name, c := range map[string]struct {
		err, want error
	}{
		"cut while it was answered":   {io.ErrUnexpectedEOF, app.ErrOutcomeUnknown},
		"given up while it ran":       {context.DeadlineExceeded, app.ErrOutcomeUnknown},
		"no connection to be had":     {notSent{connectError{io.EOF}}, app.ErrUnavailable},
		"no connection in time":       {notSent{context.DeadlineExceeded}, context.DeadlineExceeded},
		"the server ended itself":     {fmt.Errorf("x: %w", mssql.Error{Number: 596, Class: 21}), app.ErrUnavailable},
		"log-in refused":              {notSent{connectError{mssql.Error{Number: 18456}}}, app.ErrUnavailable},
		"Azure is busy":               {mssql.Error{Number: 40501}, app.ErrUnavailable},
		"3609 behind it":              {mssql.Error{Number: 3609, All: []mssql.Error{full, {Number: 3609}}}, app.ErrSlotFull},
		"a snapshot conflict":         {mssql.Error{Number: 3960}, app.ErrTransient},
		"what it was already remains": {fmt.Errorf("%w: x", app.ErrTransient), app.ErrTransient},
	} {
		require.ErrorIs(t, outcome(c.err), c.want, name)
	}
	require.False(t, errors.Is(outcome(notSent{context.DeadlineExceeded}), app.ErrOutcomeUnknown), "nothing was sent")
	for _, stranger := range []mssql.Error{{Number: 50000, State: 1, Message: "closed on Sundays"}, {Number: 50000, State: 9, Message: full.Message}, {Number: 3902}, {Number: 3903}} {
		require.Equal(t, error(stranger), outcome(stranger), "what is not ours stays as it is")
	}
}
