package adapters

import (
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mask stands where a secret stood.
const mask = "xxxxx"

// span is a part of a text, [from, to).
type span struct{ from, to int }

// Redact returns a DSN without its secrets: the password of a URL, whatever
// characters it has, and each value of a key that is called like a password.
func Redact(dsn string) string {
	spans := secretSpans(dsn)
	for _, s := range slices.Backward(spans) {
		dsn = dsn[:s.from] + mask + dsn[s.to:]
	}
	return dsn
}

// secretSpans finds the secrets of a DSN, ascending and apart.
func secretSpans(dsn string) []span {
	spans := keySpans(dsn)
	if s, ok := userinfoSpan(dsn); ok {
		// An odd password may look as if it had keys in it.
		spans = slices.DeleteFunc(spans, func(k span) bool { return k.from < s.to && s.from < k.to })
		spans = append(spans, s)
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	return spans
}

// userinfoSpan finds the password of scheme://user:password@host. Where a
// password was not escaped the URL cannot be parsed; all up to the last @ may
// then be part of it.
func userinfoSpan(dsn string) (span, bool) {
	start := strings.Index(dsn, "://")
	if start < 0 {
		return span{}, false
	}
	start += len("://")
	at := strings.LastIndex(dsn, "@")
	if u, err := url.Parse(dsn); err == nil && u.User != nil {
		end := start + strings.IndexAny(dsn[start:]+"/", "/?#")
		at = strings.LastIndex(dsn[:end], "@")
	}
	if at < start {
		return span{}, false
	}
	colon := strings.Index(dsn[start:at], ":")
	if colon < 0 {
		return span{}, false
	}
	return span{start + colon + 1, at}, true
}

// secretKey finds key=value where the key is called like a password, as in
// query parameters, key/value and ADO strings; the value ends at the group.
var (
	secretKey   = regexp.MustCompile(`(?i)[\w.-]*(?:password|passwd|pwd|passphrase|secret|token|apikey)[\w.-]*\s*=\s*`)
	quotedValue = regexp.MustCompile(`^(?:'(?:[^'\\]|\\.)*'|"(?:[^"]|"")*"|\{(?:[^}]|\}\})*\})`)
)

func keySpans(dsn string) []span {
	var spans []span
	ends := "&; \t\n"
	if strings.Contains(dsn, ";") {
		ends = "&;\n" // in ADO strings a value may have blanks
	}
	for from := 0; ; {
		m := secretKey.FindStringIndex(dsn[from:])
		if m == nil {
			return spans
		}
		value := from + m[1]
		length := len(quotedValue.FindString(dsn[value:]))
		if length == 0 {
			length = strings.IndexAny(dsn[value:]+"\n", ends)
		}
		from = value + length
		if length > 0 {
			spans = append(spans, span{value, from})
		}
	}
}

// unescaped undoes what a quoted value does to its quote, by that quote.
var unescaped = map[byte]*strings.Replacer{
	'\'': strings.NewReplacer(`\\`, `\`, `\'`, `'`),
	'"':  strings.NewReplacer(`""`, `"`),
	'{':  strings.NewReplacer(`}}`, `}`),
}

// Scrubber takes secrets out of texts that others wrote: drivers' errors,
// logs, messages of the command line.
type Scrubber struct {
	replacer *strings.Replacer // nil when there is nothing to look for
}

// NewScrubber looks for the secrets of these DSNs; a text that is none, such
// as an ordinary argument, adds nothing.
func NewScrubber(dsns ...string) Scrubber {
	var pairs []string
	for _, dsn := range dsns {
		open := Redact(dsn)
		for _, s := range secretSpans(dsn) {
			for _, spelling := range spellings(dsn[s.from:s.to]) {
				// A password that equals the user's name would blot out the
				// name; a very short one half of each text.
				if len(spelling) > 2 && !strings.Contains(open, spelling) {
					pairs = append(pairs, spelling, mask)
				}
			}
		}
	}
	if pairs == nil {
		return Scrubber{}
	}
	return Scrubber{strings.NewReplacer(longestFirst(pairs)...)}
}

// longestFirst orders pairs so that a secret goes before its own beginning.
func longestFirst(pairs []string) []string {
	olds := make([]string, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		olds = append(olds, pairs[i])
	}
	slices.SortFunc(olds, func(a, b string) int { return len(b) - len(a) })
	ordered := make([]string, 0, len(pairs))
	for _, old := range olds {
		ordered = append(ordered, old, mask)
	}
	return ordered
}

// spellings returns how a secret may stand in a text: as written, decoded,
// encoded, and as the inside of a quoted or JSON string.
func spellings(secret string) []string {
	plain := []string{secret}
	if len(secret) > 2 && strings.ContainsAny(secret[:1], `'"{`) {
		inside := secret[1 : len(secret)-1]
		plain = append(plain, inside, unescaped[secret[0]].Replace(inside))
	}
	for _, decode := range []func(string) (string, error){url.PathUnescape, url.QueryUnescape} {
		if s, err := decode(secret); err == nil {
			plain = append(plain, s)
		}
	}
	var all []string
	for _, s := range plain {
		quoted := strconv.Quote(s)
		coded, _ := json.Marshal(s) // a string always can be
		all = append(all, s, url.PathEscape(s), url.QueryEscape(s), url.UserPassword("", s).String()[1:],
			quoted[1:len(quoted)-1], string(coded[1:len(coded)-1]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Text returns the text without the secrets.
func (s Scrubber) Text(text string) string {
	if s.replacer == nil {
		return text
	}
	return s.replacer.Replace(text)
}

// Error returns an error whose text is without the secrets. errors.Is still
// finds the causes; they cannot be taken out, since their texts are as they were.
func (s Scrubber) Error(err error) error {
	if err == nil {
		return nil
	}
	return scrubbed{s.Text(err.Error()), err}
}

type scrubbed struct {
	text  string
	cause error
}

func (e scrubbed) Error() string { return e.text }

// Is sees through to the cause.
func (e scrubbed) Is(target error) bool { return errors.Is(e.cause, target) }
