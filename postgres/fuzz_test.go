package postgres

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// unquote reads one quoted text at the start of s as Postgres does and returns
// what is behind it.
func unquote(s string, quote byte, backslash bool) (text, rest string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case backslash && s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case s[i] != quote:
			b.WriteByte(s[i])
		case i+1 < len(s) && s[i+1] == quote:
			i++
			b.WriteByte(quote)
		default:
			return b.String(), s[i+1:], true
		}
	}
	return "", "", false
}

// FuzzGuardNames quotes any text so that it is read again as it was, with
// nothing of it left over that a statement could be.
// Seen red with: quoteName leaving a quote single; a backslash left single.
func FuzzGuardNames(f *testing.F) {
	f.Fuzz(func(t *testing.T, schema, name string) {
		got, rest, ok := unquote(quoteName(name), '"', false)
		require.True(t, ok)
		require.Equal(t, [2]string{name, ""}, [2]string{got, rest})

		literal := quoteText(name)
		got, rest, ok = unquote(strings.TrimPrefix(literal, "E"), '\'', literal[0] == 'E')
		require.True(t, ok)
		require.Equal(t, [2]string{name, ""}, [2]string{got, rest})
		if literal[0] != 'E' { // then standard_conforming_strings must not matter
			require.NotContains(t, literal, `\`)
		}

		if table := (tableName{schema, name}); schema != "" && name != "" && len(schema) <= maxIdentifier && len(name) <= maxIdentifier {
			again, err := parseTable(table.quoted())
			require.NoError(t, err)
			require.Equal(t, table, again)
		}
		if table, err := parseTable(name); err == nil {
			again, err := parseTable(table.quoted())
			require.NoError(t, err)
			require.Equal(t, table, again)
		}

		object := objectName("slot", name)
		require.LessOrEqual(t, len(object), maxIdentifier)
		if utf8.ValidString(name) {
			require.True(t, utf8.ValidString(object))
		}

		quote := dollarQuote(name)
		body, behind, ok := strings.Cut(name+"\n"+quote, quote) // a body ends with its line
		require.True(t, ok)
		require.Equal(t, [2]string{name + "\n", ""}, [2]string{body, behind})
	})
}
