package httpapi

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// Routes are matched against the path as it came, so that an encoded slash is
// no separator, and a segment is decoded once, here.

// pathText takes a segment. The copy outlives the request, whose buffers fiber
// uses again. Errors: malformed-request for a broken escape, such as %zz.
func pathText(c *fiber.Ctx, name string) (string, error) {
	raw := c.Params(name)
	if strings.IndexByte(raw, '%') < 0 {
		return strings.Clone(raw), nil
	}
	s, err := url.PathUnescape(raw)
	if err != nil {
		return "", refuse("malformed-request", "The path has a broken percent-escape.")
	}
	return s, nil
}

// pathID takes an id. What is no positive 64-bit integer, or is one in another
// spelling than the answers have (+1, 01), names nothing, hence the error of
// what is looked for.
func pathID(c *fiber.Ctx, notFound error) (int64, error) {
	raw := c.Params("id")
	id, err := strconv.ParseInt(raw, 10, 64)
	if err != nil || raw[0] < '1' || raw[0] > '9' {
		return 0, notFound
	}
	return id, nil
}

// segment encodes a text as one path segment. Dots alone are encoded, too: a
// client would take them for a way up.
func segment(s string) string {
	if s == "." || s == ".." {
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return url.PathEscape(s)
}
