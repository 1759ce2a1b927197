package httpapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"slotkeeper/app"

	"github.com/gofiber/fiber/v2"
)

func setETag(c *fiber.Ctx, version int64) {
	c.Set(fiber.HeaderETag, `"`+strconv.FormatInt(version, 10)+`"`)
}

// ifMatch is the header of that name (RFC 9110, 13.1.1).
type ifMatch struct {
	given    bool
	any      bool    // *
	versions []int64 // the strong tags that are a slot's
}

// readIfMatch never fails: what is no strong tag of ours matches nothing, and
// then the condition is false.
func readIfMatch(c *fiber.Ctx) ifMatch {
	var m ifMatch
	for _, line := range c.Request().Header.PeekAll(fiber.HeaderIfMatch) {
		m.given = true
		if strings.TrimSpace(string(line)) == "*" {
			m.any = true
			continue
		}
		for tag := range strings.SplitSeq(string(line), ",") {
			if v, ok := tagVersion(strings.TrimSpace(tag)); ok {
				m.versions = append(m.versions, v)
			}
		}
	}
	return m
}

// tagVersion reads a tag exactly as setETag writes it: "04" is another tag
// than "4", and "0" is none, though app takes 0 for any version.
func tagVersion(tag string) (int64, bool) {
	if len(tag) < 3 || tag[0] != '"' || tag[len(tag)-1] != '"' {
		return 0, false
	}
	digits := tag[1 : len(tag)-1]
	v, err := strconv.ParseInt(digits, 10, 64)
	return v, err == nil && v > 0 && strconv.FormatInt(v, 10) == digits
}

// maxEdits bounds how often an edit for any version is tried again because
// others edit the slot at the same time.
const maxEdits = 10

// onMatch runs edit with the slot's version if the header allows it. One tag
// needs no look at the slot: the edit compares it itself. Errors: those of
// edit, app.ErrSlotNotFound, app.ErrVersionMismatch, app.ErrBusy.
func (s *Server) onMatch(ctx context.Context, m ifMatch, id int64, edit func(version int64) error) error {
	if !m.any && len(m.versions) == 1 {
		return edit(m.versions[0])
	}
	for range maxEdits {
		slot, err := s.svc.Slot(ctx, id)
		if err != nil {
			return err
		}
		if !m.any && !slices.Contains(m.versions, slot.Version) {
			return app.ErrVersionMismatch
		}
		if err := edit(slot.Version); !errors.Is(err, app.ErrVersionMismatch) {
			return err
		}
	}
	return fmt.Errorf("%w: the slot is edited all the time", app.ErrBusy)
}
