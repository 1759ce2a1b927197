package httpapi

import (
	"errors"

	"slotkeeper/app"

	"github.com/gofiber/fiber/v2"
)

func (s *Server) createResource(c *fiber.Ctx) error {
	in, err := body(c, "key", "name", "kind")
	if err != nil {
		return err
	}
	n := app.Resource{Key: in.text("key"), Name: in.optionalText("name")}
	kind, ok := in.string("kind", true)
	if n.Kind = app.Kind(kind); ok && n.Kind != app.KindPlace && n.Kind != app.KindThing {
		in.wrong("kind", `must be "place" or "thing"`)
	}
	if in.err() != nil {
		n.Kind = "" // which app refuses, see fields.join
	}
	r, err := s.svc.CreateResource(s.context(c), n)
	if err = in.join(err, "kind"); err != nil {
		return err
	}
	c.Set(fiber.HeaderLocation, s.prefix+"/resources/"+segment(r.Key))
	return reply(c, fiber.StatusCreated, r, appendResource)
}

func (s *Server) resource(c *fiber.Ctx) error {
	key, err := pathText(c, "key")
	if err != nil {
		return err
	}
	r, err := s.svc.Resource(s.context(c), key)
	if err != nil {
		return err
	}
	return reply(c, fiber.StatusOK, r, appendResource)
}

func (s *Server) listResources(c *fiber.Ctx, q *query) error {
	after, limit := q.keyCursor(resourceCursor), q.limit()
	if err := q.err(); err != nil {
		return err
	}
	page, err := s.svc.Resources(s.context(c), after, limit)
	if err != nil {
		return err
	}
	return replyPage(s, c, q, page.Items, keyCursorText(resourceCursor, page.Next), appendResource)
}

func (s *Server) freeRanges(c *fiber.Ctx, q *query) error {
	key, err := pathText(c, "key")
	if err != nil {
		return err
	}
	from, to := q.period(true)
	ask := app.FreeQuery{Resource: key, From: from, To: to, Minimum: q.minutes()}
	if err := q.err(); err != nil {
		return err
	}
	free, err := s.svc.FreeRanges(s.context(c), ask)
	if err != nil {
		return ofQuery(err)
	}
	return replyItems(c, fiber.StatusOK, free, appendRange)
}

// ofQuery turns fields that app found wrong into parameters.
func ofQuery(err error) error {
	var invalid *app.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	e := &answerError{code: "validation-failed"}
	for _, f := range invalid.Fields {
		e.entries = append(e.entries, entry{parameter: f.Field, detail: f.Detail})
	}
	return e
}
