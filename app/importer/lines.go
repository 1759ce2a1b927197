package importer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxLine bounds what one row may take of memory; a longer line is broken.
const maxLine = 1 << 20

// line is one line of a file without its end.
type line struct {
	number int // from 1
	text   string
	after  int64 // bytes of the file up to its end
	long   bool  // it was longer than maxLine and is cut
}

// lines reads a file line by line. A row is always one line, so that a quote
// that is never closed spoils its own row and not the rest of the file; no
// value of a row may have a line break in it anyway.
type lines struct {
	in Input
	r  *bufio.Reader
	at line
}

var (
	bom    = []byte("\xef\xbb\xbf")
	utf16s = [][]byte{[]byte("\xff\xfe"), []byte("\xfe\xff")}
)

// openLines begins to read a file in UTF-8, with a byte order mark or without.
// Errors: *FileError where it is UTF-16, those of reading.
func openLines(in Input) (*lines, error) {
	l := &lines{in: in, r: bufio.NewReaderSize(in.Data, 64<<10)}
	head, err := l.r.Peek(len(bom))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", in.Name, err)
	}
	for _, mark := range utf16s {
		if bytes.HasPrefix(head, mark) {
			return nil, &FileError{in.Name, "the file is UTF-16: save it again as UTF-8"}
		}
	}
	if bytes.HasPrefix(head, bom) {
		n, err := l.r.Discard(len(bom))
		l.at.after = int64(n)
		return l, err
	}
	return l, nil
}

// next returns the next line that is not blank; io.EOF at the end.
func (l *lines) next() (line, error) {
	for {
		if err := l.read(); err != nil {
			return line{}, err
		}
		if strings.TrimSpace(l.at.text) != "" {
			return l.at, nil
		}
	}
}

func (l *lines) read() error {
	var text []byte
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		l.at.after += int64(len(part))
		if room := maxLine - len(text); len(part) > room {
			part, long = part[:room], true
		}
		text = append(text, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(text) == 0:
			return io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("read %s after line %d: %w", l.in.Name, l.at.number, err)
		}
		l.at.number++
		l.at.long = long
		l.at.text = string(bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r")))
		return nil
	}
}
