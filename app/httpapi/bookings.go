package httpapi

import (
	"errors"
	"slices"

	"slotkeeper/app"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"
)

func (s *Server) book(c *fiber.Ctx) error {
	key, err := pathText(c, "key")
	if err != nil {
		return err
	}
	in, err := body(c, "user_id", "starts_at", "ends_at", "hold_seconds")
	if err != nil {
		return err
	}
	n := newBooking(in)
	n.Resource = key
	b, err := s.svc.Book(s.context(c), n)
	var invalid *app.ValidationError
	if errors.As(err, &invalid) && slices.ContainsFunc(invalid.Fields, ofResource) {
		return app.ErrResourceNotFound // a key that cannot be, and it stands in the path
	}
	if err = in.join(err, "hold_seconds"); err != nil {
		return err
	}
	return reply(c, fiber.StatusCreated, b, appendBooking)
}

func ofResource(e app.FieldError) bool { return e.Field == "resource" }

// newBooking takes who, when and how long; spoiled if anything is wrong so far.
func newBooking(in *fields) app.NewBooking {
	n := app.NewBooking{
		UserID:   in.text("user_id"),
		StartsAt: in.instant("starts_at"),
		EndsAt:   in.instant("ends_at"),
		Hold:     in.hold(),
	}
	if in.err() != nil {
		n.Hold = spoiledHold
	}
	return n
}

// bookAll takes several resources for one range, or none of them.
func (s *Server) bookAll(c *fiber.Ctx) error {
	in, err := body(c, "user_id", "starts_at", "ends_at", "hold_seconds", "resources")
	if err != nil {
		return err
	}
	var all []app.NewBooking
	in.items("resources", func(at string, v jsontext.Value) {
		all = append(all, bookingOf(in, at, v))
	})
	each := newBooking(in)
	for i := range all {
		all[i].UserID, all[i].Hold = each.UserID, each.Hold
		all[i].StartsAt, all[i].EndsAt = each.StartsAt, each.EndsAt
	}
	made, err := s.svc.BookAll(s.context(c), all)
	if err = in.join(err, "hold_seconds"); err != nil {
		return err
	}
	return replyItems(c, fiber.StatusCreated, made, appendBooking)
}

// bookingOf reads {"place":key} or {"thing":key}.
func bookingOf(in *fields, at string, v jsontext.Value) app.NewBooking {
	// Stands for a key that could not be read: one that app has nothing against
	// and that is like no other in the list.
	unread := app.NewBooking{Resource: "unread " + at}
	before := len(in.bad)
	item := in.object(at, v, "place", "thing")
	if len(in.bad) > before || in.unknown != nil {
		return unread
	}
	if item.has("place") == item.has("thing") {
		in.wrong(at, "must name either a place or a thing")
		return unread
	}
	n := app.NewBooking{Kind: app.KindThing}
	if item.has("place") {
		n.Kind = app.KindPlace
	}
	n.Resource = item.text(string(n.Kind))
	if len(item.bad) > 0 {
		in.bad = append(in.bad, item.bad...)
		return unread
	}
	return n
}

func (s *Server) listBookings(c *fiber.Ctx, q *query) error {
	key, err := pathText(c, "key")
	if err != nil {
		return err
	}
	from, to := q.period(false)
	ask := app.BookingQuery{Resource: key, From: from, To: to, After: q.timeCursor(bookingCursor), Limit: q.limit()}
	if err := q.err(); err != nil {
		return err
	}
	page, err := s.svc.Bookings(s.context(c), ask)
	if err != nil {
		return err
	}
	return replyPage(s, c, q, page.Items, timeCursorText(bookingCursor, page.Next), appendBooking)
}

func (s *Server) confirmBooking(c *fiber.Ctx) error {
	id, err := pathID(c, app.ErrBookingNotFound)
	if err != nil {
		return err
	}
	if err := noBody(c); err != nil {
		return err
	}
	b, err := s.svc.ConfirmBooking(s.context(c), id)
	if err != nil {
		return err
	}
	return reply(c, fiber.StatusOK, b, appendBooking)
}

func (s *Server) cancelBooking(c *fiber.Ctx) error {
	id, err := pathID(c, app.ErrBookingNotFound)
	if err != nil {
		return err
	}
	return noContent(c, s.svc.CancelBooking(s.context(c), id))
}
