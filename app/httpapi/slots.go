package httpapi

import (
	"strconv"

	"slotkeeper/app"

	"github.com/gofiber/fiber/v2"
)

func (s *Server) createSlot(c *fiber.Ctx) error {
	in, err := body(c, "starts_at", "ends_at", "capacity", "resource")
	if err != nil {
		return err
	}
	n := app.NewSlot{
		StartsAt: in.instant("starts_at"),
		EndsAt:   in.instant("ends_at"),
		Capacity: int(in.integer("capacity", 1, app.MaxCapacity, 1)),
		Resource: in.optionalText("resource"),
	}
	if in.err() != nil {
		n.Capacity = spoiledCapacity
	}
	slot, err := s.svc.CreateSlot(s.context(c), n)
	if err = in.join(err, "capacity"); err != nil {
		return err
	}
	c.Set(fiber.HeaderLocation, s.prefix+"/slots/"+strconv.FormatInt(slot.ID, 10))
	setETag(c, slot.Version)
	return reply(c, fiber.StatusCreated, slot, appendSlot)
}

// spoiledCapacity is one that app refuses, see fields.join.
const spoiledCapacity = -1

func (s *Server) listSlots(c *fiber.Ctx, q *query) error {
	from, to := q.period(false)
	ask := app.SlotQuery{
		From: from, To: to,
		Resource:  q.key("resource"),
		Available: q.flag("available"),
		Minimum:   q.minutes(),
		After:     q.timeCursor(slotCursor),
		Limit:     q.limit(),
	}
	if err := q.err(); err != nil {
		return err
	}
	page, err := s.svc.Slots(s.context(c), ask)
	if err != nil {
		return err
	}
	return replyPage(s, c, q, page.Items, timeCursorText(slotCursor, page.Next), appendSlot)
}

func (s *Server) slot(c *fiber.Ctx) error {
	id, err := pathID(c, app.ErrSlotNotFound)
	if err != nil {
		return err
	}
	slot, err := s.svc.Slot(s.context(c), id)
	if err != nil {
		return err
	}
	setETag(c, slot.Version)
	return reply(c, fiber.StatusOK, slot, appendSlot)
}

func (s *Server) editSlot(c *fiber.Ctx) error {
	id, err := pathID(c, app.ErrSlotNotFound)
	if err != nil {
		return err
	}
	edit, err := s.slotEdit(c, id)
	if err != nil {
		return err
	}
	match := readIfMatch(c)
	if !match.given {
		if _, err := s.svc.Slot(s.context(c), id); err != nil {
			return err // a slot that is not there has no version to name
		}
		return refuse("version-required", "")
	}
	var slot app.Slot
	ctx := s.context(c)
	err = s.onMatch(ctx, match, id, func(version int64) (err error) {
		slot, err = s.svc.EditSlot(ctx, id, version, edit)
		return err
	})
	if err != nil {
		return err
	}
	setETag(c, slot.Version)
	return reply(c, fiber.StatusOK, slot, appendSlot)
}

func (s *Server) slotEdit(c *fiber.Ctx, id int64) (app.SlotEdit, error) {
	var edit app.SlotEdit
	in, err := body(c, "capacity", "starts_at", "ends_at")
	if err != nil {
		return edit, err
	}
	edit.StartsAt = in.optionalInstant("starts_at", false)
	edit.EndsAt = in.optionalInstant("ends_at", false)
	if in.has("capacity") {
		n := int(in.integer("capacity", 1, app.MaxCapacity, spoiledCapacity))
		edit.Capacity = &n
	} else if !in.has("starts_at") && !in.has("ends_at") {
		in.wrong("", "must name what to change: capacity, starts_at or ends_at")
		return edit, in.err()
	}
	if in.err() == nil {
		return edit, nil
	}
	spoiled := spoiledCapacity
	edit.Capacity = &spoiled
	_, err = s.svc.EditSlot(s.context(c), id, 0, edit)
	return edit, in.join(err, "capacity")
}

func (s *Server) deleteSlot(c *fiber.Ctx) error {
	id, err := pathID(c, app.ErrSlotNotFound)
	if err != nil {
		return err
	}
	ctx := s.context(c)
	remove := func(version int64) error { return s.svc.DeleteSlot(ctx, id, version) }
	if match := readIfMatch(c); match.given && !match.any {
		err = s.onMatch(ctx, match, id, remove)
	} else {
		err = remove(0)
	}
	return noContent(c, err)
}

func noContent(c *fiber.Ctx, err error) error {
	if err == nil {
		c.Status(fiber.StatusNoContent)
	}
	return err
}
