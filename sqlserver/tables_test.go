package sqlserver_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
	"slotkeeper/sqlserver"
)

var clinicTables = sqlserver.Tables{Guard: clinic, SlotStart: "StartsAt", SlotEnd: "EndsAt", BookingKey: "Id", Cancelled: "Cancelled"}

// An older program's tables, served. Seen red with: AND live left out of
// served/cancel.sql (the second cancel succeeds).
func TestServedTables(t *testing.T) {
	dsn, db := guarded(t)
	s := openWith(t, dsn, sqlserver.Options{Tables: &clinicTables})
	require.NoError(t, s.Ready(t.Context()))
	slots, err := s.Slots(t.Context(), app.SlotQuery{From: time.Date(2090, 1, 1, 9, 20, 0, 0, time.UTC), Limit: 10})
	require.NoError(t, err)
	require.Len(t, slots, 2)
	require.Equal(t, time.Date(2090, 1, 1, 9, 20, 0, 0, time.UTC), slots[0].StartsAt)

	at := app.NewReservation{SlotID: 1, UserID: "anna"}
	made, err := s.Reserve(t.Context(), at)
	require.NoError(t, err)
	found, err := s.Reservation(t.Context(), 1, "anna")
	require.NoError(t, err)
	require.Equal(t, made.ID, found.ID)
	_, err = s.Reserve(t.Context(), at)
	require.ErrorIs(t, err, app.ErrAlreadyReserved, "also when it is full")
	_, err = s.Reserve(t.Context(), app.NewReservation{SlotID: 1, UserID: "bert"})
	require.ErrorIs(t, err, app.ErrSlotFull)
	_, err = s.Reserve(t.Context(), app.NewReservation{SlotID: 99, UserID: "bert"})
	require.ErrorIs(t, err, app.ErrSlotNotFound)
	_, err = s.Confirm(t.Context(), 1, "anna")
	require.NoError(t, err)
	list, err := s.Reservations(t.Context(), 1, 0, 10)
	require.NoError(t, err)
	require.Len(t, list, 1)
	slot, err := s.Slot(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, 0, slot.Available())
	require.NoError(t, s.Cancel(t.Context(), 1, "anna"))
	require.ErrorIs(t, s.Cancel(t.Context(), 1, "anna"), app.ErrReservationNotFound)
	require.Equal(t, 1, count(t, db, "SELECT COUNT(*) FROM dbo.Appointments WHERE Status = 'Cancelled'"))
	faults, err := s.Check(t.Context())
	require.NoError(t, err)
	require.Empty(t, faults)

	_, err = s.Reserve(t.Context(), app.NewReservation{SlotID: 1, UserID: "bert", Hold: time.Minute})
	require.ErrorIs(t, err, app.ErrUnsupported)
	_, _, err = s.CreateSlot(t.Context(), app.NewSlot{})
	require.ErrorIs(t, err, app.ErrUnsupported)
}

// Without the guard there is no promise to serve. Seen red with: tableTexts not
// asking report.Installed.
func TestServedTablesNeedTheGuard(t *testing.T) {
	dsn, _ := legacy(t)
	_, err := sqlserver.Open(t.Context(), dsn, sqlserver.Options{Tables: &clinicTables, AllowUnguardedLocks: true})
	require.ErrorContains(t, err, "the guard is not on")
}
