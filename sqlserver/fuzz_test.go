package sqlserver

import (
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// unquote reads one quoted text at the start of s as T-SQL does, where only the
// closing character is doubled, and returns what is behind it.
func unquote(s string, closing byte) (text, rest string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != closing {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == closing {
			b.WriteByte(closing)
			i++
			continue
		}
		return b.String(), s[i+1:], true
	}
	return "", "", false
}

// FuzzGuardNames quotes any text so that it is read again as it was, with
// nothing of it left over that a statement could be.
// Seen red with: quoteName leaving "]" single; quoteText leaving "'" single.
func FuzzGuardNames(f *testing.F) {
	f.Fuzz(func(t *testing.T, schema, name string) {
		got, rest, ok := unquote(quoteName(name), ']')
		require.True(t, ok)
		require.Equal(t, [2]string{name, ""}, [2]string{got, rest})

		literal := quoteText(name)
		got, rest, ok = unquote(strings.TrimPrefix(literal, "N"), '\'')
		require.True(t, ok)
		require.Equal(t, [2]string{name, ""}, [2]string{got, rest})

		units := func(s string) int { return len(utf16.Encode([]rune(s))) }
		if table := (tableName{schema, name}); schema != "" && name != "" && units(schema) <= maxIdentifier && units(name) <= maxIdentifier {
			again, err := parseTable(table.quoted())
			require.NoError(t, err)
			require.Equal(t, table, again)
		}
		if table, err := parseTable(name); err == nil {
			again, err := parseTable(table.quoted())
			require.NoError(t, err)
			require.Equal(t, table, again)
		}

		trigger := triggerName("capacity", name)
		require.LessOrEqual(t, units(trigger), maxIdentifier)
		if utf8.ValidString(name) {
			require.True(t, utf8.ValidString(trigger))
		}
	})
}
