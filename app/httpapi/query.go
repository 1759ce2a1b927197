package httpapi

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"slotkeeper/app"

	"github.com/gofiber/fiber/v2"
)

// query is the part of a URL behind the question mark. Like fields, it gathers
// whatever is wrong; a parameter that is unknown or occurs twice is.
type query struct {
	known  []string
	values []string // of known
	given  []bool
	bad    []entry
}

func readQuery(raw string, known []string) *query {
	q := &query{known: known, values: make([]string, len(known)), given: make([]bool, len(known))}
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(rawName)
		i := slices.Index(known, name)
		if err != nil || i < 0 {
			q.wrong(cmp.Or(name, rawName), "is not a parameter of this call")
			continue
		}
		if q.given[i] {
			q.wrong(name, "occurs more than once")
			continue
		}
		q.given[i] = true
		if q.values[i], err = url.QueryUnescape(rawValue); err != nil {
			q.wrong(name, "has a broken percent-escape")
			q.given[i] = false
		}
	}
	return q
}

func (q *query) wrong(name, detail string) {
	q.bad = append(q.bad, entry{parameter: name, detail: detail})
}

func (q *query) err() error {
	if len(q.bad) == 0 {
		return nil
	}
	return &answerError{code: "validation-failed", entries: q.bad}
}

func (q *query) get(name string) (string, bool) {
	i := slices.Index(q.known, name)
	return q.values[i], q.given[i]
}

// instant takes a time; the zero one if it is absent. In a query an unescaped
// plus is a space, and no time has a space, so "+02:00" need not be escaped.
func (q *query) instant(name string, required bool) time.Time {
	v, ok := q.get(name)
	if !ok {
		if required {
			q.wrong(name, "is required")
		}
		return time.Time{}
	}
	t, ok := parseTime([]byte(strings.ReplaceAll(v, " ", "+")))
	if !ok {
		q.wrong(name, notATime)
		return time.Time{}
	}
	if t = t.UTC(); t.Year() < 1900 || t.Year() > 9998 { // as app wants times, and every engine has them
		q.wrong(name, "must be in the years 1900 to 9998")
		return time.Time{}
	}
	return t
}

// period takes from and to, which bound [from, to).
func (q *query) period(required bool) (from, to time.Time) {
	from, to = q.instant("from", required), q.instant("to", required)
	if !from.IsZero() && !to.IsZero() && to.Before(from) {
		q.wrong("to", "must not be earlier than from")
	}
	return from, to
}

func (q *query) number(name string, most int) int {
	v, ok := q.get(name)
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > most || v[0] == '+' {
		q.wrong(name, fmt.Sprintf("must be a whole number from 1 to %d", most))
		return 0
	}
	return n
}

func (q *query) limit() int { return q.number("limit", app.MaxPage) }

// minutes takes the least length of a range, up to a leap year's.
func (q *query) minutes() time.Duration {
	return time.Duration(q.number("minutes", 366*24*60)) * time.Minute
}

func (q *query) flag(name string) bool {
	v, ok := q.get(name)
	if ok && v != "true" && v != "false" {
		q.wrong(name, "must be true or false")
	}
	return v == "true"
}

// key takes the key of a resource.
func (q *query) key(name string) string {
	v, ok := q.get(name)
	v = app.NFC(v)
	if n := utf8.RuneCountInString(v); ok && (n < 1 || n > 128 || !isText(v) || strings.TrimSpace(v) != v) {
		q.wrong(name, "must be a key: 1 to 128 characters, none of them a control character, no white space at either end")
	}
	return v
}

// isText says whether a database can be asked for s.
func isText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// A cursor is opaque to clients: the list that it continues, and behind what.
const (
	slotCursor        = 's'
	reservationCursor = 'r'
	resourceCursor    = 'k'
	bookingCursor     = 'b'
)

func (q *query) cursor(list byte, read func(b []byte) bool) {
	v, ok := q.get("cursor")
	if !ok {
		return
	}
	b, err := base64.RawURLEncoding.DecodeString(v)
	if err != nil || len(b) < 2 || b[0] != list || !read(b[1:]) {
		q.wrong("cursor", "is not a next_cursor of this list")
	}
}

// timeCursor reads the cursor of a list that is ordered by start and id.
func (q *query) timeCursor(list byte) (at app.SlotCursor) {
	q.cursor(list, func(b []byte) bool {
		if len(b) != 16 {
			return false
		}
		at.StartsAt = time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC()
		at.ID = int64(binary.BigEndian.Uint64(b[8:]))
		year := at.StartsAt.Year()
		return at.ID > 0 && year >= 1900 && year <= 9999
	})
	return at
}

func timeCursorText(list byte, at *app.SlotCursor) string {
	if at == nil {
		return ""
	}
	b := binary.BigEndian.AppendUint64([]byte{list}, uint64(at.StartsAt.UnixMicro()))
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(b, uint64(at.ID)))
}

func (q *query) idCursor() (id int64) {
	q.cursor(reservationCursor, func(b []byte) bool {
		if len(b) != 8 {
			return false
		}
		id = int64(binary.BigEndian.Uint64(b))
		return id > 0
	})
	return id
}

func idCursorText(id int64) string {
	if id == 0 {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64([]byte{reservationCursor}, uint64(id)))
}

func (q *query) keyCursor(list byte) (key string) {
	q.cursor(list, func(b []byte) bool {
		key = string(b)
		return isText(key)
	})
	return key
}

func keyCursorText(list byte, key string) string {
	if key == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append([]byte{list}, key...))
}

// replyPage answers with one page. The last one has "next_cursor":null, any
// other has it and a Link to the following page as well.
func replyPage[T any](s *Server, c *fiber.Ctx, q *query, items []T, next string, appendValue func([]byte, T) []byte) error {
	if next != "" {
		c.Set(fiber.HeaderLink, "<"+s.prefix+string(c.Context().URI().PathOriginal())+"?"+q.following(next)+`>; rel="next"`)
	}
	return reply(c, fiber.StatusOK, items, func(b []byte, items []T) []byte {
		b = appendItems(b, items, appendValue)
		b = append(b, `,"next_cursor":`...)
		if next == "" {
			return append(b, "null}"...)
		}
		return append(appendText(b, next), '}')
	})
}

// following is the query of the next page.
func (q *query) following(cursor string) string {
	values := url.Values{"cursor": {cursor}}
	for i, name := range q.known {
		if q.given[i] && name != "cursor" {
			values.Set(name, q.values[i])
		}
	}
	return values.Encode()
}
