package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	driver "modernc.org/sqlite"
	code "modernc.org/sqlite/lib"

	"slotkeeper/app"
)

// raised are the messages of the triggers' RAISE(ABORT): ours, not SQLite's.
var raised = map[string]error{
	"slot-not-found":        app.ErrSlotNotFound,
	"already-reserved":      app.ErrAlreadyReserved,
	"slot-full":             app.ErrSlotFull,
	"slot-overlap":          app.ErrSlotOverlap,
	"slot-has-reservations": app.ErrSlotHasReservations,
	"resource-busy":         app.ErrResourceBusy,
	"resource-not-found":    app.ErrResourceNotFound,
}

// translate turns SQLite's error into the app's, by result code and, for a
// trigger's refusal, by the code that the trigger raised.
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
	var lite *driver.Error
	if !errors.As(err, &lite) {
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, sql.ErrTxDone) {
			return app.ErrBusy // an open transaction was rolled back, by database/sql itself where it is "done"
		}
		return nil
	}
	if lite.Code() == code.SQLITE_CONSTRAINT_TRIGGER {
		for text, meaning := range raised {
			if strings.Contains(lite.Error(), text) {
				return meaning
			}
		}
		return nil
	}
	switch lite.Code() & 0xff { // the primary result code
	case code.SQLITE_BUSY, code.SQLITE_LOCKED:
		return app.ReasonLockTimeout
	case code.SQLITE_INTERRUPT:
		return app.ErrBusy
	case code.SQLITE_FULL, code.SQLITE_IOERR, code.SQLITE_CANTOPEN, code.SQLITE_READONLY, code.SQLITE_NOTADB, code.SQLITE_CORRUPT:
		return app.ErrUnavailable
	}
	return nil
}
