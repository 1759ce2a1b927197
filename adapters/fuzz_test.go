package adapters

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzRedact hides a password wherever a DSN may have it and however it is
// written, and the Scrubber hides it in what a driver says.
// Seen red with: userinfoSpan ending at the first @; keySpans beginning a byte
// late; a quoted value looked for only as it was quoted.
func FuzzRedact(f *testing.F) {
	const core = "zQ7xK9" // stands in the password and nowhere else
	f.Fuzz(func(t *testing.T, user, before, after, host string) {
		for _, part := range []string{user, before, after, host} {
			if strings.Contains(part, core) {
				return
			}
		}
		password := before + core + after
		at := "postgres://" + url.UserPassword(user, password).String() + "@" + url.QueryEscape(host) // a path may have an @, a host not
		quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(password)
		dsns := map[string]string{
			"URL":       at + "/clinic?sslmode=disable",
			"query":     "sqlserver://" + url.PathEscape(host) + "?" + url.Values{"password": {password}, "user": {user}}.Encode(),
			"key=value": "host=db password='" + quoted + "' dbname=c",
			"ADO":       "server=h;password={" + strings.ReplaceAll(password, "}", "}}") + "};a=b",
		}
		if !strings.ContainsAny(password, "/?#") { // then it is no longer certain where it ends
			dsns["raw URL"] = "postgres://anna:" + password + "@db/clinic"
		}
		for how, dsn := range dsns {
			require.NotContains(t, Redact(dsn), core, "%s: %q", how, dsn)
			said := NewScrubber(dsn).Text(fmt.Sprintf("cannot parse %s, %q: password %s, %q", dsn, dsn, password, password))
			require.NotContains(t, said, core, "%s: %q", how, dsn)
		}
	})
}

// FuzzEngineOf names an engine only for its scheme and shows nothing of a DSN
// but that. Seen red with: the DSN told as its scheme.
func FuzzEngineOf(f *testing.F) {
	f.Fuzz(func(t *testing.T, dsn string) {
		Redact(dsn)
		NewScrubber(dsn).Text(dsn)
		engine, err := EngineOf(dsn)
		if err != nil {
			require.Empty(t, engine)
			if _, rest, has := strings.Cut(dsn, ":"); has && len(rest) > 40 {
				require.NotContains(t, err.Error(), rest)
			}
			return
		}
		scheme, _, _ := strings.Cut(strings.ToLower(dsn), ":")
		require.True(t, strings.HasPrefix(scheme, string(engine)), "%s of %q", engine, dsn)
	})
}
