package importer

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// RejectsHead names the columns of a file of rejects.
var RejectsHead = []string{"file", "line", "column", "field", "code", "detail", "row"}

// RejectsFile writes rejects as CSV; the row stands as it was in its last
// column, so that it can be mended and imported again.
type RejectsFile struct {
	w    *csv.Writer
	Rows int // written
}

// NewRejectsFile writes the header.
func NewRejectsFile(w io.Writer) (*RejectsFile, error) {
	f := &RejectsFile{w: csv.NewWriter(w)}
	err := f.w.Write(RejectsHead)
	return f, err
}

// Add writes one reject; it may wait in memory until Flush.
func (f *RejectsFile) Add(r Reject) error {
	f.Rows++
	return f.w.Write([]string{r.File, strconv.Itoa(r.Line), strconv.Itoa(r.Column), r.Field, r.Code, r.Detail, r.Row})
}

// Flush writes what waits.
func (f *RejectsFile) Flush() error {
	f.w.Flush()
	return f.w.Error()
}

// String says what became of a file's rows: what is new first, then the rest.
func (c Count) String() string {
	codes := make([]string, 0, len(c.Codes))
	for code := range c.Codes {
		codes = append(codes, code)
	}
	added := func(code string) int {
		if code == CodeCreated || code == CodeReserved {
			return 0
		}
		return 1
	}
	slices.SortFunc(codes, func(a, b string) int {
		if n := added(a) - added(b); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	parts := make([]string, len(codes))
	for i, code := range codes {
		parts[i] = fmt.Sprintf("%d %s", c.Codes[code], code)
	}
	text := fmt.Sprintf("%d rows", c.Rows)
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return text
}
