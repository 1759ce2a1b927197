package httpapi

import (
	"strconv"
	"time"

	"slotkeeper/app"

	"github.com/gofiber/fiber/v2"
)

// The answers are written by hand: they are few and flat, and on the hot path
// reflection would cost more than all else that the handler does.

const jsonType = "application/json"

// reply answers 200 or status with one value.
func reply[T any](c *fiber.Ctx, status int, v T, appendValue func([]byte, T) []byte) error {
	resp := c.Response()
	resp.SetStatusCode(status)
	resp.Header.SetContentType(jsonType)
	resp.SwapBody(appendValue(resp.SwapBody(nil)[:0], v))
	return nil
}

// replyItems answers {"items":[...]} without a cursor.
func replyItems[T any](c *fiber.Ctx, status int, items []T, appendValue func([]byte, T) []byte) error {
	return reply(c, status, items, func(b []byte, items []T) []byte {
		return append(appendItems(b, items, appendValue), '}')
	})
}

func appendItems[T any](b []byte, items []T, appendValue func([]byte, T) []byte) []byte {
	b = append(b, `{"items":[`...)
	for i, v := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(b, v)
	}
	return append(b, ']')
}

func appendSlot(b []byte, s app.Slot) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, s.ID, 10)
	b = appendMember(b, "resource", s.Resource)
	b = appendTime(b, `,"starts_at":`, s.StartsAt)
	b = appendTime(b, `,"ends_at":`, s.EndsAt)
	b = append(b, `,"capacity":`...)
	b = strconv.AppendInt(b, int64(s.Capacity), 10)
	b = append(b, `,"reserved":`...)
	b = strconv.AppendInt(b, int64(s.Reserved), 10)
	b = append(b, `,"available":`...)
	b = strconv.AppendInt(b, int64(s.Available()), 10)
	b = append(b, `,"version":`...)
	b = strconv.AppendInt(b, s.Version, 10)
	return append(b, '}')
}

func appendReservation(b []byte, r app.Reservation) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, r.ID, 10)
	b = append(b, `,"slot_id":`...)
	b = strconv.AppendInt(b, r.SlotID, 10)
	b = appendMember(b, "user_id", r.UserID)
	b = appendMember(b, "status", string(r.Status))
	b = appendTime(b, `,"created_at":`, r.CreatedAt)
	if !r.ExpiresAt.IsZero() {
		b = appendTime(b, `,"expires_at":`, r.ExpiresAt)
	}
	return append(b, '}')
}

func appendResource(b []byte, r app.Resource) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, r.ID, 10)
	b = appendMember(b, "key", r.Key)
	b = appendMember(b, "name", r.Name)
	b = appendMember(b, "kind", string(r.Kind))
	return append(b, '}')
}

func appendBooking(b []byte, k app.Booking) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, k.ID, 10)
	b = appendMember(b, "resource", k.Resource)
	b = appendMember(b, "kind", string(k.Kind))
	b = appendMember(b, "user_id", k.UserID)
	b = appendTime(b, `,"starts_at":`, k.StartsAt)
	b = appendTime(b, `,"ends_at":`, k.EndsAt)
	b = appendMember(b, "status", string(k.Status))
	b = appendTime(b, `,"created_at":`, k.CreatedAt)
	if !k.ExpiresAt.IsZero() {
		b = appendTime(b, `,"expires_at":`, k.ExpiresAt)
	}
	return append(b, '}')
}

func appendRange(b []byte, r app.Range) []byte {
	b = appendTime(b, `{"starts_at":`, r.From)
	b = appendTime(b, `,"ends_at":`, r.To)
	return append(b, '}')
}

// appendTime appends a member with a time in UTC, to the microsecond at most,
// which is what every engine keeps.
func appendTime(b []byte, member string, t time.Time) []byte {
	b = append(b, member...)
	b = append(b, '"')
	b = t.UTC().Truncate(time.Microsecond).AppendFormat(b, time.RFC3339Nano)
	return append(b, '"')
}
