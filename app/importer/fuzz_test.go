package importer

import (
	"bytes"
	"context"
	"encoding/csv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// fuzzImport runs an import of any two files and requires what is true of each:
// every row is counted once, every reject points into its own line and stands
// whole in the file of rejects, and the same files again add nothing.
func fuzzImport(t *testing.T, format Format, slots, asks string) {
	c := newClinic()
	run := func() (Summary, []Reject, error) {
		var rejects []Reject
		summary, err := Run(context.Background(), c, Job{
			Slots: Input{Name: "slots", Data: strings.NewReader(slots)}, Format: format,
			Reservations: &Input{Name: "asks", Data: strings.NewReader(asks)},
			Reject:       func(r Reject) error { rejects = append(rejects, r); return nil },
		})
		return summary, rejects, err
	}
	summary, rejects, err := run()
	if err != nil {
		var whole *FileError
		require.ErrorAs(t, err, &whole)
		require.Empty(t, c.slots, "nothing of a refused file is imported")
		return
	}
	require.True(t, summary.Complete)
	for _, count := range []Count{summary.Slots, summary.Reservations} {
		sum := 0
		for _, n := range count.Codes {
			sum += n
		}
		require.Equal(t, count.Rows, sum, "%v", count)
	}
	require.Len(t, c.slots, summary.Slots.Codes[CodeCreated])
	require.Len(t, c.places, summary.Reservations.Codes[CodeReserved])
	lines := map[string][]string{"slots": strings.Split(slots, "\n"), "asks": strings.Split(asks, "\n")}
	for _, r := range rejects {
		require.Contains(t, strings.TrimPrefix(lines[r.File][r.Line-1], "\ufeff"), r.Row)
		require.NotContains(t, r.Row, "\n")
		require.GreaterOrEqual(t, r.Column, 1, r)
		require.LessOrEqual(t, r.Column, len(r.Row)+1, r)
		require.NotEmpty(t, r.Detail)
	}
	fuzzRejects(t, rejects)

	again, _, err := run()
	require.NoError(t, err)
	require.Zero(t, again.Slots.Codes[CodeCreated])
	require.Zero(t, again.Reservations.Codes[CodeReserved])
	require.Equal(t, summary.Slots.Rows, again.Slots.Rows)
}

func fuzzRejects(t *testing.T, rejects []Reject) {
	var b bytes.Buffer
	file, err := NewRejectsFile(&b)
	require.NoError(t, err)
	for _, r := range rejects {
		require.NoError(t, file.Add(r))
	}
	require.NoError(t, file.Flush())
	rows, err := csv.NewReader(&b).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, len(rejects)+1)
	for i, r := range rejects {
		require.Equal(t, r.Row, rows[i+1][len(RejectsHead)-1])
	}
}

// Seen red with: a row of too few fields let through (it panicked).
func FuzzCSV(f *testing.F) {
	f.Fuzz(func(t *testing.T, slots, asks string) { fuzzImport(t, CSV, slots, asks) })
}

// Seen red with: the column of a wrong type taken times 99.
func FuzzSmart(f *testing.F) {
	f.Fuzz(func(t *testing.T, slots, asks string) { fuzzImport(t, Smart, slots, asks) })
}

// FuzzLines puts the lines of any file together again, but for what ends them.
// Seen red with: the return before a newline left.
func FuzzLines(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		l, err := openLines(Input{Name: "f", Data: strings.NewReader(text)})
		if err != nil {
			require.False(t, utf8.ValidString(text), "UTF-16 is no UTF-8")
			return
		}
		var want []string
		for _, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
			if strings.TrimSpace(line) != "" {
				want = append(want, strings.TrimSuffix(line, "\r"))
			}
		}
		for _, w := range want {
			got, err := l.next()
			require.NoError(t, err)
			require.Equal(t, w, got.text)
		}
		_, err = l.next()
		require.Error(t, err)
	})
}
