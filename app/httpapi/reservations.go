package httpapi

import (
	"strconv"
	"time"

	"slotkeeper/app"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"
)

// spoiledHold is one that app refuses, see fields.join.
const spoiledHold = -time.Second

func (s *Server) reserve(c *fiber.Ctx) error {
	id, err := pathID(c, app.ErrSlotNotFound)
	if err != nil {
		return err
	}
	in, err := body(c, "user_id", "hold_seconds", "allow_past")
	if err != nil {
		return err
	}
	n := app.NewReservation{SlotID: id, UserID: in.text("user_id"), Hold: in.hold(), AllowPast: in.flag("allow_past")}
	if in.err() != nil {
		n.Hold = spoiledHold
	}
	r, err := s.svc.Reserve(s.context(c), n)
	if err = in.join(err, "hold_seconds"); err != nil {
		return err
	}
	c.Set(fiber.HeaderLocation, s.prefix+"/slots/"+strconv.FormatInt(r.SlotID, 10)+"/reservations/"+segment(r.UserID))
	return reply(c, fiber.StatusCreated, r, appendReservation)
}

// reserveAll takes a place in each of several slots or in none.
func (s *Server) reserveAll(c *fiber.Ctx) error {
	in, err := body(c, "user_id", "slot_ids", "hold_seconds", "allow_past")
	if err != nil {
		return err
	}
	each := app.NewReservation{UserID: in.text("user_id"), Hold: in.hold(), AllowPast: in.flag("allow_past")}
	var all []app.NewReservation
	in.items("slot_ids", func(at string, v jsontext.Value) {
		id, ok := wholeNumber(v)
		if !ok || id < 1 {
			in.wrong(at, "must be a slot's id, a positive integer")
			id = 0
		}
		each.SlotID = id
		all = append(all, each)
	})
	if in.err() != nil {
		for i := range all {
			all[i].Hold = spoiledHold
		}
	}
	made, err := s.svc.ReserveAll(s.context(c), all)
	if err = in.join(err, "hold_seconds"); err != nil {
		return err
	}
	return replyItems(c, fiber.StatusCreated, made, appendReservation)
}

func (s *Server) listReservations(c *fiber.Ctx, q *query) error {
	id, err := pathID(c, app.ErrSlotNotFound)
	if err != nil {
		return err
	}
	after, limit := q.idCursor(), q.limit()
	if err := q.err(); err != nil {
		return err
	}
	page, err := s.svc.Reservations(s.context(c), id, after, limit)
	if err != nil {
		return err
	}
	return replyPage(s, c, q, page.Items, idCursorText(page.Next), appendReservation)
}

// place takes the slot and the user that a path names.
func place(c *fiber.Ctx) (slotID int64, userID string, err error) {
	if userID, err = pathText(c, "user"); err != nil {
		return 0, "", err
	}
	slotID, err = pathID(c, app.ErrSlotNotFound)
	return slotID, userID, err
}

func (s *Server) reservation(c *fiber.Ctx) error {
	slotID, userID, err := place(c)
	if err != nil {
		return err
	}
	r, err := s.svc.Reservation(s.context(c), slotID, userID)
	if err != nil {
		return err
	}
	return reply(c, fiber.StatusOK, r, appendReservation)
}

func (s *Server) confirm(c *fiber.Ctx) error {
	slotID, userID, err := place(c)
	if err != nil {
		return err
	}
	if err := noBody(c); err != nil {
		return err
	}
	r, err := s.svc.Confirm(s.context(c), slotID, userID)
	if err != nil {
		return err
	}
	return reply(c, fiber.StatusOK, r, appendReservation)
}

func (s *Server) cancel(c *fiber.Ctx) error {
	slotID, userID, err := place(c)
	if err != nil {
		return err
	}
	return noContent(c, s.svc.Cancel(s.context(c), slotID, userID))
}
