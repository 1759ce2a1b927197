package adapters

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"slotkeeper/app"
)

// Seen red with the parsed URL taken instead of the greedy span (passwords
// with / ? # @ stayed) and with keySpans left out.
func TestRedact(t *testing.T) {
	for dsn, want := range map[string]string{
		"sqlite:slotkeeper.db":                          "sqlite:slotkeeper.db",
		"postgres://db.example.org/clinic":              "postgres://db.example.org/clinic",
		"postgres://anna@db/clinic":                     "postgres://anna@db/clinic",
		"postgres://anna:s3cret@db:5432/c?a=b":          "postgres://anna:xxxxx@db:5432/c?a=b",
		"postgres://anna:p%40ss@db/clinic":              "postgres://anna:xxxxx@db/clinic",
		"postgres://anna:p@ss@db/clinic":                "postgres://anna:xxxxx@db/clinic",
		"postgres://anna:p/ss@db/clinic":                "postgres://anna:xxxxx@db/clinic",
		"postgres://anna:12/ss@db/clinic":               "postgres://anna:xxxxx@db/clinic",
		"postgres://anna:p?ss#x@db/clinic":              "postgres://anna:xxxxx@db/clinic",
		"postgres://anna:12?ss@db/clinic":               "postgres://anna:xxxxx@db/clinic",
		"postgres://anna:p ss@db/clinic":                "postgres://anna:xxxxx@db/clinic",
		"postgres://anna:%zz@db/clinic":                 "postgres://anna:xxxxx@db/clinic",
		"postgres://anna:password=x@db/clinic":          "postgres://anna:xxxxx@db/clinic",
		"postgres://a:s3cret@db/c?application_name=x@y": "postgres://a:xxxxx@db/c?application_name=x@y",
		"postgres://db/c?user=anna&password=s3cret&a=b": "postgres://db/c?user=anna&password=xxxxx&a=b",
		"postgres://a:one@db/c?sslpassword=two":         "postgres://a:xxxxx@db/c?sslpassword=xxxxx",
		"sqlserver://sa:S3cret!@h:1433?database=c":      "sqlserver://sa:xxxxx@h:1433?database=c",
		"host=db user=anna password=s3cret dbname=c":    "host=db user=anna password=xxxxx dbname=c",
		"host=db password = 's3 c\\'ret' dbname=c":      "host=db password = xxxxx dbname=c",
		"server=h;user id=sa;Password=s3 cret;a=b":      "server=h;user id=sa;Password=xxxxx;a=b",
		"server=h;pwd={s3;cr}}et};a=b":                  "server=h;pwd=xxxxx;a=b",
	} {
		assert.Equal(t, want, Redact(dsn), dsn)
	}
}

// The texts that drivers make of a wrong DSN. Seen red with Text returning its
// argument and, for the quoted ones, with spellings returning the plain text.
func TestScrubber(t *testing.T) {
	const secret = `s3"c/r\t ü`
	dsn := "postgres://anna:" + secret + "@db/clinic"
	coded, err := json.Marshal(dsn)
	assert.NoError(t, err)
	for _, text := range []string{
		"cannot parse " + dsn,
		fmt.Sprintf("cannot parse %q", dsn),
		string(coded),
		`net/url: invalid port ":` + secret + `" after host`,
		"password=" + secret,
		"postgres://anna:s3%22c%2Fr%5Ct%20%C3%BC@db/clinic",
		"p=s3%22c%2Fr%5Ct+%C3%BC",
	} {
		got := NewScrubber(dsn).Text(text)
		assert.Contains(t, got, mask, text)
		for _, part := range []string{"s3", "ü", "%C3%BC"} {
			assert.NotContains(t, got, part)
		}
	}
	assert.Equal(t, "user anna, password xxxxx and xxxxx",
		NewScrubber("postgres://anna:p%40ss@db").Text("user anna, password p@ss and p%40ss"))
	assert.Equal(t, "password xxxxx", NewScrubber("host=x password='a b c'").Text("password 'a b c'"))
}

// A secret that is a public word as well is not looked for: blotting out each
// "postgres" would make every message unreadable and hide nothing.
func TestScrubberKeepsPublicWords(t *testing.T) {
	dsn := "postgres://postgres:postgres@db/clinic"
	assert.Equal(t, "no postgres here", NewScrubber(dsn).Text("no postgres here"))
	assert.Equal(t, "postgres://postgres:xxxxx@db/clinic", Redact(dsn))
	assert.Equal(t, "as it is", NewScrubber("serve", "--pool-size", "").Text("as it is"))
}

// The longer secret goes first: of two DSNs one password may begin with the other.
func TestScrubberLongestFirst(t *testing.T) {
	s := NewScrubber("postgres://a:hunter@h/d", "postgres://a:hunter22@h/d")
	assert.Equal(t, "xxxxx xxxxx", s.Text("hunter22 hunter"))
}

func TestScrubbedError(t *testing.T) {
	cause := fmt.Errorf("%w: password s3cret is wrong", app.ErrUnavailable)
	err := NewScrubber("postgres://anna:s3cret@db").Error(cause)
	assert.ErrorIs(t, err, app.ErrUnavailable)
	assert.NotErrorIs(t, err, app.ErrBusy)
	assert.EqualError(t, fmt.Errorf("open: %w", err), "open: database unavailable: password xxxxx is wrong")
	assert.False(t, strings.Contains(fmt.Sprintf("%+v %#v", err, errors.Unwrap(err)), "s3cret"))
	assert.NoError(t, NewScrubber().Error(nil))
}
