package app

import (
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fieldErrors gathers what is wrong, so that a client learns all of it at once.
type fieldErrors []FieldError

func (bad *fieldErrors) add(field, detail string) {
	*bad = append(*bad, FieldError{field, detail})
}

func (bad fieldErrors) err() error {
	if len(bad) == 0 {
		return nil
	}
	return &ValidationError{Fields: bad}
}

func (bad *fieldErrors) text(field, s string) string {
	s, problem := normalizeText(s)
	if problem != "" {
		bad.add(field, problem)
	}
	return s
}

// normalizeText returns s in Unicode NFC, so that a composed and a decomposed
// spelling are one person, and says what keeps it from being an id: 1 to 128
// characters, no control characters, no white space at either end.
func normalizeText(s string) (string, string) {
	if !utf8.ValidString(s) {
		return s, "must be valid UTF-8"
	}
	s = norm.NFC.String(s)
	n := utf8.RuneCountInString(s)
	if n < 1 || n > maxTextRunes {
		return s, "must have 1 to 128 characters"
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return s, "must not have control characters"
		}
	}
	first, _ := utf8.DecodeRuneInString(s)
	last, _ := utf8.DecodeLastRuneInString(s)
	if unicode.IsSpace(first) || unicode.IsSpace(last) {
		return s, "must not begin or end with white space"
	}
	return s, ""
}

// instant returns t in UTC, cut to the microsecond, the finest that every
// engine keeps. Years 1900 to 9998 keep any offset inside all of their ranges.
func (bad *fieldErrors) instant(field string, t time.Time) time.Time {
	t = t.UTC().Truncate(time.Microsecond)
	if y := t.Year(); y < 1900 || y > 9998 {
		bad.add(field, "must be in the years 1900 to 9998")
	}
	return t
}

func (bad *fieldErrors) interval(from, to time.Time) (time.Time, time.Time) {
	before := len(*bad)
	from, to = bad.instant("starts_at", from), bad.instant("ends_at", to)
	if len(*bad) == before && !from.Before(to) {
		bad.add("ends_at", "must be later than starts_at; ranges are half-open [starts_at, ends_at)")
	}
	return from, to
}
