package tds

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
	"unicode/utf16"
)

// Data types, [MS-TDS] 2.2.5.4.
const (
	dataNull           = 0x1f
	dataGUID           = 0x24
	dataIntN           = 0x26
	dataDateTime2      = 0x2a
	dataDateTimeOffset = 0x2b
	dataBitN           = 0x68
	dataFloatN         = 0x6d
	dataVarBinary      = 0xa5
	dataVarChar        = 0xa7
	dataNVarChar       = 0xe7
)

const (
	longLength  = 0xffff // of a type without a bound, whose values come in chunks
	nullLength  = 0xffff // of a value, in a type with a 2-byte length
	nullChunks  = math.MaxUint64
	timeSize    = 5 // of a time with 7 decimals
	dateSize    = 3
	offsetSize  = 2
	secondUnits = 10_000_000 // the time's unit is 100 ns
)

var dayOne = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)

// reader takes values from the front of data. After an error it returns zeros.
type reader struct {
	data []byte
	err  error
}

func (r *reader) fail(format string, args ...any) {
	r.err = errors.Join(r.err, fmt.Errorf(format, args...))
}

func (r *reader) bytes(n int) []byte {
	if n < 0 || n > len(r.data) {
		r.fail("the message ends early")
	}
	if r.err != nil {
		return make([]byte, min(max(n, 0), 8))
	}
	taken := r.data[:n]
	r.data = r.data[n:]
	return taken
}

func (r *reader) rest() []byte   { return r.bytes(len(r.data)) }
func (r *reader) byte() byte     { return r.bytes(1)[0] }
func (r *reader) uint16() uint16 { return binary.LittleEndian.Uint16(r.bytes(2)) }
func (r *reader) uint32() uint32 { return binary.LittleEndian.Uint32(r.bytes(4)) }
func (r *reader) uint64() uint64 { return binary.LittleEndian.Uint64(r.bytes(8)) }

// text8 is a string behind its length in one byte.
func (r *reader) text8() string { return decodeText(r.bytes(2 * int(r.byte()))) }

func decodeText(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

// parameter reads a type and a value of it. A type that it does not know is an
// error, since nobody can tell where its value ends.
func (r *reader) parameter() any {
	switch kind := r.byte(); kind {
	case dataNull:
		return nil
	case dataIntN, dataBitN, dataFloatN, dataGUID:
		r.byte() // the type's length
		return number(kind, r.bytes(int(r.byte())))
	case dataDateTime2, dataDateTimeOffset:
		if scale := r.byte(); scale != 7 {
			r.fail("a time with %d decimals", scale)
		}
		return instant(r.bytes(int(r.byte())))
	case dataNVarChar, dataVarChar, dataVarBinary:
		length := r.uint16()
		if kind != dataVarBinary {
			r.bytes(collationSize)
		}
		b := r.variable(length == longLength)
		switch {
		case b == nil:
			return nil
		case kind == dataNVarChar:
			return decodeText(b)
		case kind == dataVarChar:
			return string(b)
		}
		return b
	default:
		r.fail("a parameter of type %#x", kind)
		return nil
	}
}

func number(kind byte, b []byte) any {
	switch {
	case len(b) == 0:
		return nil
	case kind == dataBitN:
		return b[0] != 0
	case kind == dataFloatN && len(b) == 8:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	case kind == dataFloatN:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	switch len(b) {
	case 1:
		return int64(b[0]) // tinyint has no sign
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	case 8:
		return int64(binary.LittleEndian.Uint64(b))
	}
	return b
}

// instant decodes time, date and, if there, offset. An offset says only how the
// instant was written; the time before it is UTC.
func instant(b []byte) any {
	if len(b) < timeSize+dateSize {
		return nil
	}
	units := int64(0)
	for i := timeSize - 1; i >= 0; i-- {
		units = units<<8 | int64(b[i])
	}
	days := int(b[timeSize]) | int(b[timeSize+1])<<8 | int(b[timeSize+2])<<16
	return dayOne.AddDate(0, 0, days).Add(time.Duration(units) * 100)
}

// variable reads the bytes of a value of variable length, nil for NULL.
func (r *reader) variable(inChunks bool) []byte {
	if !inChunks {
		if n := r.uint16(); n != nullLength {
			return r.bytes(int(n))
		}
		return nil
	}
	if r.uint64() == nullChunks {
		return nil
	}
	all := []byte{}
	for r.err == nil {
		n := r.uint32()
		if n == 0 {
			break
		}
		all = append(all, r.bytes(int(n))...)
	}
	return all
}
