package tds

import (
	"encoding/binary"
	"fmt"
	"time"
	"unicode/utf16"
)

// Reply is an answer: steps that write tokens, one after the other. The zero
// Reply is the ordinary answer: a statement that touched no rows, a transaction
// begun, committed or rolled back.
type Reply struct {
	steps []func(*answer)
}

func reply(steps ...func(*answer)) Reply { return Reply{steps} }

// Seq is one reply made of several: the answers of a batch's statements, or of
// one statement that says more than one thing.
func Seq(replies ...Reply) Reply {
	var all Reply
	for _, r := range replies {
		all.steps = append(all.steps, r.steps...)
	}
	return all
}

// Type is a column's data type.
type Type byte

// The types, and the Go types of their values; each column may have NULLs (nil).
const (
	BigInt         Type = iota // int64 or int
	Int                        // int64 or int
	Bit                        // bool
	NVarChar                   // string of at most 4000 UTF-16 units
	DateTimeOffset             // time.Time; 100 ns
	DateTime2                  // time.Time, of which the UTC reading is sent; 100 ns
)

// Column is a column of a result.
type Column struct {
	Name string
	Type Type
}

// Rows answers with one result set.
func Rows(columns []Column, rows ...[]any) Reply {
	return reply(func(a *answer) {
		a.columns(columns)
		for _, row := range rows {
			if len(row) != len(columns) {
				a.err = fmt.Errorf("a row of %d values for %d columns", len(row), len(columns))
				return
			}
			a.token(tokenRow)
			for i, v := range row {
				a.value(columns[i], v)
			}
		}
		a.statement(doneCount, commandSelect, int64(len(rows)))
	})
}

// Row answers with one row whose columns have no names. It tells their types
// from the values: int64 is bigint, int is int, nil is a NULL nvarchar.
func Row(values ...any) Reply {
	columns := make([]Column, len(values))
	for i, v := range values {
		columns[i].Type = NVarChar
		switch v.(type) {
		case int64:
			columns[i].Type = BigInt
		case int:
			columns[i].Type = Int
		case bool:
			columns[i].Type = Bit
		case time.Time:
			columns[i].Type = DateTimeOffset
		}
	}
	return Rows(columns, values)
}

// Done answers that a statement touched n rows.
func Done(n int64) Reply {
	return reply(func(a *answer) { a.statement(doneCount, 0, n) })
}

func (a *answer) columns(columns []Column) {
	const nullable = 0x0001
	a.token(tokenColumns)
	a.data = binary.LittleEndian.AppendUint16(a.data, uint16(len(columns)))
	for _, c := range columns {
		a.data = binary.LittleEndian.AppendUint32(a.data, 0) // user type
		a.data = binary.LittleEndian.AppendUint16(a.data, nullable)
		switch c.Type {
		case BigInt:
			a.data = append(a.data, dataIntN, 8)
		case Int:
			a.data = append(a.data, dataIntN, 4)
		case Bit:
			a.data = append(a.data, dataBitN, 1)
		case NVarChar:
			a.data = append(a.data, dataNVarChar)
			a.data = binary.LittleEndian.AppendUint16(a.data, maxNVarChar)
			a.data = append(a.data, collation[:]...)
		case DateTimeOffset:
			a.data = append(a.data, dataDateTimeOffset, 7)
		case DateTime2:
			a.data = append(a.data, dataDateTime2, 7)
		}
		a.data = append(a.data, text8(c.Name)...)
	}
}

const maxNVarChar = 8000 // bytes

func (a *answer) value(c Column, v any) {
	if v == nil {
		if c.Type == NVarChar {
			a.data = binary.LittleEndian.AppendUint16(a.data, nullLength)
		} else {
			a.data = append(a.data, 0)
		}
		return
	}
	if n, ok := v.(int); ok {
		v = int64(n)
	}
	switch v := v.(type) {
	case int64:
		if c.Type == BigInt {
			a.data = binary.LittleEndian.AppendUint64(append(a.data, 8), uint64(v))
			return
		}
		if c.Type == Int && v == int64(int32(v)) {
			a.data = binary.LittleEndian.AppendUint32(append(a.data, 4), uint32(v))
			return
		}
	case bool:
		if c.Type == Bit {
			a.data = append(a.data, 1, bit(v))
			return
		}
	case string:
		units := utf16.Encode([]rune(v))
		if c.Type == NVarChar && 2*len(units) <= maxNVarChar {
			a.data = binary.LittleEndian.AppendUint16(a.data, uint16(2*len(units)))
			a.data = appendUnits(a.data, units)
			return
		}
	case time.Time:
		if a.instant(c.Type, v) {
			return
		}
	}
	a.err = fmt.Errorf("column %q (type %d) cannot hold %v (%T)", c.Name, c.Type, v, v)
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

func (a *answer) instant(kind Type, t time.Time) bool {
	if kind != DateTimeOffset && kind != DateTime2 {
		return false
	}
	_, east := t.Zone()
	t = t.UTC()
	midnight := t.Truncate(24 * time.Hour) // counts from the year 1, as days do here
	units := uint64(t.Sub(midnight) / 100)
	days := uint32(midnight.Unix()/86400 - dayOne.Unix()/86400)
	size := byte(timeSize + dateSize)
	if kind == DateTimeOffset {
		size += offsetSize
	}
	a.data = append(a.data, size)
	a.data = append(a.data, binary.LittleEndian.AppendUint64(nil, units)[:timeSize]...)
	a.data = append(a.data, binary.LittleEndian.AppendUint32(nil, days)[:dateSize]...)
	if kind == DateTimeOffset {
		a.data = binary.LittleEndian.AppendUint16(a.data, uint16(int16(east/60)))
	}
	return true
}
