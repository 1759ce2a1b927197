package importer

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// columns names what a table's header must and may name.
type columns struct {
	required, optional []string
}

// table is a CSV file whose first line names its columns.
type table struct {
	in    Input
	lines *lines
	index map[string]int
}

// openTable reads the header. Errors: *FileError where it names a column twice,
// lacks one or has one that is not known; those of reading.
func openTable(in Input, c columns) (*table, error) {
	l, err := openLines(in)
	if err != nil {
		return nil, err
	}
	head, err := l.next()
	if errors.Is(err, io.EOF) {
		return nil, &FileError{in.Name, "the file is empty: its first line must name the columns " + strings.Join(c.required, ", ")}
	}
	if err != nil {
		return nil, err
	}
	names, _, bad := split(head)
	if bad != nil {
		return nil, &FileError{in.Name, "the first line cannot be read: " + bad.detail}
	}
	index, detail := c.index(names)
	if detail != "" {
		return nil, &FileError{in.Name, detail}
	}
	return &table{in, l, index}, nil
}

// index returns where each column stands, or what is wrong with the header.
func (c columns) index(names []string) (map[string]int, string) {
	if len(names) == 1 && strings.ContainsAny(names[0], ";\t") {
		return nil, fmt.Sprintf("the first line %q is not separated by commas: save the file with commas", names[0])
	}
	known := slices.Concat(c.required, c.optional)
	index := map[string]int{}
	for i, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Sprintf("column %q is not known: remove it; the columns are %s", name, strings.Join(known, ", "))
		}
		if _, twice := index[name]; twice {
			return nil, fmt.Sprintf("column %q stands twice: remove one", name)
		}
		index[name] = i
	}
	for _, name := range c.required {
		if _, has := index[name]; !has {
			return nil, fmt.Sprintf("column %q is missing: the first line must name %s", name, strings.Join(c.required, ", "))
		}
	}
	return index, ""
}

// record is one row of a table.
type record struct {
	t      *table
	fields []string
	starts []int // byte from 1 at which each field begins
}

// record splits a line.
func (t *table) record(l line) (record, *problem) {
	fields, starts, bad := split(l)
	if bad != nil {
		return record{}, bad
	}
	if len(fields) != len(t.index) {
		return record{}, &problem{CodeBroken, "", 1,
			fmt.Sprintf("the row has %d fields where the header has %d", len(fields), len(t.index))}
	}
	return record{t, fields, starts}, nil
}

func split(l line) ([]string, []int, *problem) {
	if l.long {
		return nil, nil, &problem{CodeBroken, "", 1, fmt.Sprintf("the line is longer than %d bytes", maxLine)}
	}
	r := csv.NewReader(strings.NewReader(l.text))
	fields, err := r.Read()
	var bad *csv.ParseError
	switch {
	case errors.As(err, &bad):
		return nil, nil, &problem{CodeBroken, "", bad.Column,
			`a quote is not closed or stands inside a field: write "…" around the field and "" for a quote in it`}
	case err != nil:
		return nil, nil, &problem{CodeBroken, "", 1, err.Error()}
	}
	starts := make([]int, len(fields))
	for i := range fields {
		_, starts[i] = r.FieldPos(i)
	}
	return fields, starts, nil
}

// has says whether the table has this column.
func (r record) has(name string) bool {
	_, ok := r.t.index[name]
	return ok
}

// text returns a field; "" where the table lacks the column.
func (r record) text(name string) string {
	if i, ok := r.t.index[name]; ok {
		return r.fields[i]
	}
	return ""
}

// position says where a field begins; 1 where the table lacks the column.
func (r record) position(name string) (string, int) {
	if i, ok := r.t.index[name]; ok {
		return name, r.starts[i]
	}
	return name, 1
}

func (r record) broken(name, detail string) *problem {
	_, column := r.position(name)
	return &problem{CodeBroken, name, column, detail}
}

func (r record) time(name string) (time.Time, *problem) {
	t, err := time.Parse(time.RFC3339, r.text(name))
	if err != nil {
		return t, r.broken(name, wantTime)
	}
	return t, nil
}

const wantTime = "must be a time with an offset as in 2026-12-01T09:00:00+01:00"
