package httpapi

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"slices"
	"strings"
	"sync"

	"slotkeeper/app"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"
)

// fields is a JSON object whose syntax is right and whose members are all
// known. Its getters (values.go) take the members one by one and gather in bad
// whatever is wrong, so that a client learns all of it at once.
type fields struct {
	known   []string
	values  []jsontext.Value // of known, nil where absent; they alias the body
	at      string           // of the object within the body, "" or "resources/0"
	bad     []app.FieldError
	unknown error // an unknown field of an object further in
}

// body reads a request's body, which must be a JSON object of these members.
// Errors: unsupported-media-type, malformed-request.
func body(c *fiber.Ctx, known ...string) (*fields, error) {
	data := c.Request().Body() // not c.Body(), which inflates what is compressed
	if len(data) == 0 {
		return nil, refuse("malformed-request", "The body is missing; it must be a JSON object.")
	}
	if !isJSON(c) {
		return nil, refuse("unsupported-media-type", "")
	}
	return readObject(data, known)
}

// noBody accepts what clients send where nothing is wanted: nothing, or {}.
func noBody(c *fiber.Ctx) error {
	if len(c.Request().Body()) == 0 {
		return nil
	}
	_, err := body(c)
	return err
}

func isJSON(c *fiber.Ctx) bool {
	header := &c.Request().Header
	if coding := header.Peek(fiber.HeaderContentEncoding); len(coding) > 0 && string(coding) != "identity" {
		return false
	}
	given := header.ContentType()
	if string(given) == jsonType {
		return true
	}
	media, params, err := mime.ParseMediaType(string(given))
	if err != nil || media != jsonType {
		return false
	}
	for name, value := range params {
		if name != "charset" || !strings.EqualFold(value, "utf-8") {
			return false
		}
	}
	return true
}

// decoder is pooled for the sake of its buffer.
type decoder struct {
	jsontext.Decoder
	src bytes.Reader
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// readObject reads the whole of data: at any depth it refuses names that occur
// twice and text that is not UTF-8, and it refuses whatever follows the object.
func readObject(data []byte, known []string) (*fields, error) {
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	d.src.Reset(data)
	d.Reset(&d.src)
	if d.PeekKind() != '{' {
		if _, err := d.ReadValue(); err != nil {
			return nil, malformed(data, err)
		}
		return nil, refuse("malformed-request", "The body must be a JSON object.")
	}
	f := &fields{known: known, values: make([]jsontext.Value, len(known))}
	unknown, err := f.readMembers(d, data)
	if err != nil {
		return nil, malformed(data, err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, refuse("malformed-request", "Something follows the JSON object.")
	}
	if unknown != "" {
		return nil, badField(jsontext.Pointer("").AppendToken(unknown), "is not known here")
	}
	return f, nil
}

// readMembers returns the name of the first unknown member. It reads on behind
// that one, since a body that is no JSON should be called so.
func (f *fields) readMembers(d *decoder, data []byte) (unknown string, err error) {
	if _, err := d.ReadToken(); err != nil {
		return "", err
	}
	for {
		name, err := d.ReadToken()
		if err != nil || name.Kind() == '}' {
			return unknown, err
		}
		i := slices.Index(f.known, name.String())
		if i < 0 && unknown == "" {
			unknown = name.String()
		}
		v, err := d.ReadValue()
		if err != nil {
			return "", err
		}
		if i >= 0 { // v itself lasts only until the next read
			end := d.InputOffset()
			f.values[i] = data[end-int64(len(v)) : end]
		}
	}
}

// malformed says what is wrong with the syntax, and where.
func malformed(data []byte, err error) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return refuse("malformed-request", "The body ends too early for a JSON object.")
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return badField(syntax.JSONPointer, "occurs more than once")
	}
	before := data[:min(int64(len(data)), syntax.ByteOffset)]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return refuse("malformed-request", fmt.Sprintf("The body is not valid JSON in UTF-8: see line %d, byte %d.", line, column))
}

// badField refuses a body for a field that must not stand where it stands.
func badField(at jsontext.Pointer, what string) error {
	return &answerError{
		code:    "malformed-request",
		detail:  fmt.Sprintf("The field %q %s.", at.LastToken(), what),
		entries: []entry{{pointer: fragment(at), detail: what}},
	}
}

// fragment writes a JSON pointer as a URI fragment (RFC 6901, 6).
func fragment(p jsontext.Pointer) string {
	u := url.URL{Fragment: string(p)}
	return "#" + u.EscapedFragment()
}

// wrong notes what is wrong with a member.
func (f *fields) wrong(name, detail string) {
	if f.at != "" {
		name = f.at + "/" + name
	}
	f.bad = append(f.bad, app.FieldError{Field: name, Detail: detail})
}

// err returns what the getters found: malformed-request for an unknown field
// further in, *app.ValidationError for the rest.
func (f *fields) err() error {
	if f.unknown != nil {
		return f.unknown
	}
	if len(f.bad) > 0 {
		return &app.ValidationError{Fields: f.bad}
	}
	return nil
}

// join adds what the getters found to what app found. If they found anything,
// the caller must have given app a value that it refuses in the field spoiled,
// which the getters judge in full: so app wrote nothing and said the rest.
func (f *fields) join(err error, spoiled string) error {
	if f.unknown != nil {
		return f.unknown
	}
	var invalid *app.ValidationError
	if len(f.bad) == 0 || !errors.As(err, &invalid) {
		return cmp.Or(f.err(), err)
	}
	own := f.bad
	for _, theirs := range invalid.Fields {
		named := slices.ContainsFunc(own, func(e app.FieldError) bool { return e.Field == theirs.Field })
		if theirs.Field != spoiled && !named {
			f.bad = append(f.bad, theirs)
		}
	}
	return f.err()
}
