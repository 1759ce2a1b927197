package httpapi

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"slotkeeper/app"

	"github.com/go-json-experiment/json/jsontext"
)

// raw returns a member's value; nil if it is absent or null, which is noted.
func (f *fields) raw(name string, required bool) jsontext.Value {
	v := f.values[slices.Index(f.known, name)]
	switch {
	case v == nil && required:
		f.wrong(name, "is required")
	case v != nil && v.Kind() == 'n':
		f.wrong(name, "must not be null; leave it out instead")
		return nil
	}
	return v
}

func (f *fields) has(name string) bool { return f.values[slices.Index(f.known, name)] != nil }

// text takes a string that must be there; what it may hold, app knows.
func (f *fields) text(name string) string {
	s, _ := f.string(name, true)
	return s
}

// optionalText takes a string that may be absent but not empty, since app
// takes an empty one for an absent one.
func (f *fields) optionalText(name string) string {
	s, ok := f.string(name, false)
	if ok && s == "" {
		f.wrong(name, "must have 1 to 128 characters")
	}
	return s
}

func (f *fields) string(name string, required bool) (string, bool) {
	v := f.raw(name, required)
	if v == nil {
		return "", false
	}
	if v.Kind() != '"' {
		f.wrong(name, "must be a string")
		return "", false
	}
	s, err := jsontext.AppendUnquote(nil, v) // a copy: the body's buffer is used again
	if err != nil {
		f.wrong(name, "must be a string")
	}
	return string(s), err == nil
}

// integer takes a whole number within [from, to]; absent it is what. 5.0 is
// the integer 5, as JSON Schema has it.
func (f *fields) integer(name string, from, to, what int64) int64 {
	v := f.raw(name, false)
	if v == nil {
		return what
	}
	n, ok := wholeNumber(v)
	if !ok || n < from || n > to {
		f.wrong(name, fmt.Sprintf("must be an integer from %d to %d", from, to))
		return what
	}
	return n
}

// wholeNumber reads a JSON number that is an integer, however it is spelled
// (5, 5.0, 5e0). Beyond 2^53 it must be spelled in digits alone.
func wholeNumber(v jsontext.Value) (int64, bool) {
	if v.Kind() != '0' {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return n, true
	}
	x, err := strconv.ParseFloat(string(v), 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		return 0, false
	}
	return int64(x), true
}

// hold takes hold_seconds. A hold of 0 is not the same as none, which app
// writes as 0, so it is judged here in full.
func (f *fields) hold() time.Duration {
	return time.Duration(f.integer("hold_seconds", 1, int64(app.MaxHold/time.Second), 0)) * time.Second
}

// flag takes true or false; absent it is false.
func (f *fields) flag(name string) bool {
	v := f.raw(name, false)
	if v != nil && v.Kind() != 't' && v.Kind() != 'f' {
		f.wrong(name, "must be true or false")
	}
	return v != nil && v.Kind() == 't'
}

// instant takes a time that must be there.
func (f *fields) instant(name string) time.Time {
	t := f.optionalInstant(name, true)
	if t == nil {
		return time.Time{}
	}
	return *t
}

func (f *fields) optionalInstant(name string, required bool) *time.Time {
	v := f.raw(name, required)
	if v == nil {
		return nil
	}
	var text []byte
	if v.Kind() == '"' {
		text, _ = jsontext.AppendUnquote(nil, v)
	}
	t, ok := parseTime(text)
	if !ok {
		f.wrong(name, notATime)
		return nil
	}
	return &t
}

const notATime = "must be an RFC 3339 time with an offset, such as 2026-12-01T09:00:00Z"

// parseTime takes RFC 3339 with an offset. T and Z may be small (RFC 3339,
// 5.6); a leap second has no place in any of the databases and is refused.
func parseTime(text []byte) (time.Time, bool) {
	if len(text) < len("2006-01-02T15:04:05Z") {
		return time.Time{}, false
	}
	if text[10] == 't' || text[len(text)-1] == 'z' {
		text = bytes.ToUpper(text)
	}
	// What package time takes beyond the standard: an hour of one digit, a
	// comma before the fraction, and offsets of 24 hours or 60 minutes.
	if text[13] != ':' || text[19] == ',' {
		return time.Time{}, false
	}
	zone := text[len(text)-len("+00:00"):]
	if zone[5] != 'Z' && (string(zone[1:3]) > "23" || string(zone[4:]) > "59") {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, string(text))
	return t, err == nil
}

// items takes an array that must be there and reads each of its elements. It
// stops behind the most that app takes, which app then says.
func (f *fields) items(name string, read func(at string, v jsontext.Value)) {
	v := f.raw(name, true)
	if v == nil {
		return
	}
	if v.Kind() != '[' {
		f.wrong(name, "must be an array")
		return
	}
	d := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := d.ReadToken(); err != nil {
		return // not to be: the syntax was checked
	}
	for i := 0; i <= app.MaxTogether && d.PeekKind() != ']'; i++ {
		element, err := d.ReadValue()
		if err != nil {
			return
		}
		read(fmt.Sprintf("%s/%d", name, i), element.Clone())
	}
}

// object reads an element of an array as an object of these members.
func (f *fields) object(at string, v jsontext.Value, known ...string) *fields {
	inner := &fields{known: known, at: at, values: make([]jsontext.Value, len(known))}
	if v.Kind() != '{' {
		f.wrong(at, "must be an object")
		return inner
	}
	read, err := readObject(v, known)
	if err != nil {
		f.unknown = cmp.Or(f.unknown, within(at, err))
		return inner
	}
	inner.values = read.values
	return inner
}

// within makes the pointers of an element's error start at the body.
func within(at string, err error) error {
	var e *answerError
	if errors.As(err, &e) {
		for i := range e.entries {
			e.entries[i].pointer = "#/" + at + strings.TrimPrefix(e.entries[i].pointer, "#")
		}
	}
	return err
}
