// Package importer moves a clinic over from another system: it reads files of
// slots and of reservations row by row and has an app.Service judge each row
// in file order.
//
// A row is one line. A line that cannot be read is a broken row: it is
// reported with file, line and column, and stops nothing. A row that the
// service refuses (the slot is full, say) is reported with the refusal's code.
// The import ends early only where rows could no longer be judged in order:
// the database is away, or the caller's context ended. Started again with the
// same files it adds nothing twice, because a slot's ref is remembered and one
// user has one place in a slot.
package importer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"slotkeeper/app"
)

// Service is what an import needs of app.Service.
type Service interface {
	ImportSlot(ctx context.Context, n app.NewSlot) (slot app.Slot, created bool, err error)
	ReserveInOrder(ctx context.Context, rs []app.NewReservation) []app.Outcome
}

// Format names how a file of slots is written.
type Format string

// The formats of a file of slots.
const (
	CSV   Format = "csv"   // ref,resource,starts_at,ends_at,capacity
	Smart Format = "smart" // FHIR R4 Slot, one JSON object a line, as SMART Scheduling Links publishes them
)

// Input is one file.
type Input struct {
	Name string // as reports name it
	Data io.Reader
	Size int64 // bytes; 0 when unknown
}

// Job is one import. Reject and Progress may be nil.
type Job struct {
	Slots        Input
	Format       Format
	Reservations *Input // CSV: slot_ref,user_id,requested_at; nil imports slots alone
	RefPrefix    string // stands before each ref, so that two systems' refs stay apart

	// Reject is told each row that was not taken over, in file order; its
	// error ends the import.
	Reject func(Reject) error
	// Progress is told often how far the import is; it must be quick.
	Progress func(Progress)
}

// Reject is a row that was refused or is broken.
type Reject struct {
	File   string
	Line   int    // from 1
	Column int    // byte from 1 where the trouble begins; 1 for a whole row
	Field  string // the column's name, "" for a whole row
	Code   string // a code of Count
	Detail string // a sentence for a person
	Row    string // the line as it stands
}

func (r Reject) String() string {
	field := ""
	if r.Field != "" {
		field = r.Field + ": "
	}
	return fmt.Sprintf("%s:%d:%d: %s%s", r.File, r.Line, r.Column, field, r.Detail)
}

// Progress says how far one file is read.
type Progress struct {
	File string
	Rows int
	Read int64 // bytes
	Size int64 // bytes; 0 when unknown
}

// Codes of rows, beside those of the refusals: already-reserved, slot-full,
// slot-not-found, slot-overlap.
const (
	CodeCreated  = "created"          // a slot is new
	CodeKnown    = "already-imported" // a slot with this ref is here and is the same
	CodeDiffers  = "slot-differs"     // a slot with this ref is here and is not the same; it stays as it is
	CodeNotFree  = "not-free"         // a FHIR slot whose status is not free
	CodeReserved = "reserved"         // a reservation is new
	CodeBroken   = "broken-row"       // the line cannot be read, or a value in it is wrong
)

// Count says what became of one file's rows.
type Count struct {
	Rows  int            `json:"rows"`
	Codes map[string]int `json:"codes"`
}

// Summary says what an import did; it is true also where the import ended early.
type Summary struct {
	Slots        Count    `json:"slots"`
	Reservations Count    `json:"reservations"`
	Notes        []string `json:"notes,omitempty"` // what a person should know besides
	Complete     bool     `json:"complete"`        // every row was judged
}

// Broken returns how many rows could not be judged because they are broken.
func (s Summary) Broken() int {
	return s.Slots.Codes[CodeBroken] + s.Reservations.Codes[CodeBroken]
}

// FileError refuses a whole file before anything is imported.
type FileError struct {
	File   string
	Detail string
}

func (e *FileError) Error() string { return e.File + ": " + e.Detail }

// StoppedError says where an import ended early; nothing from that row on was
// imported.
type StoppedError struct {
	File string
	Line int
	Err  error
}

func (e *StoppedError) Error() string {
	return fmt.Sprintf("stopped before %s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap gives the cause: the end of the context, app.ErrBusy, app.ErrUnavailable.
func (e *StoppedError) Unwrap() error { return e.Err }

// run is a Job at work.
type run struct {
	Job
	svc     Service
	summary Summary
	slots   map[string]known // by ref in NFC
}

// known is what became of a row of the slots file.
type known struct {
	id   int64 // 0: it was refused
	line int
}

// Run imports the slots, then the reservations. Errors: *FileError (nothing was
// imported), *StoppedError, those of Reject and of reading.
func Run(ctx context.Context, svc Service, job Job) (Summary, error) {
	r := &run{Job: job, svc: svc, slots: map[string]known{}}
	r.summary.Slots.Codes = map[string]int{}
	r.summary.Reservations.Codes = map[string]int{}
	rows, err := r.readSlots()
	if err != nil {
		return r.summary, err
	}
	var reservations *table
	if job.Reservations != nil { // its header is read before a slot is written
		if reservations, err = openTable(*job.Reservations, reservationColumns); err != nil {
			return r.summary, err
		}
	}
	if err := r.importSlots(ctx, rows); err != nil {
		return r.summary, err
	}
	if reservations != nil {
		if err := r.importReservations(ctx, reservations); err != nil {
			return r.summary, err
		}
	}
	r.summary.Complete = true
	return r.summary, nil
}

// problem is why a row was not taken over.
type problem struct {
	code   string
	field  string // "" for the whole row
	column int    // byte from 1
	detail string
}

// reject counts a row that was not taken over and tells of it.
func (r *run) reject(in Input, c *Count, l line, p *problem) error {
	c.Codes[p.code]++
	if r.Reject == nil {
		return nil
	}
	return r.Reject(Reject{in.Name, l.number, p.column, p.field, p.code, p.detail, l.text})
}

func (r *run) progress(in Input, c *Count, read int64) {
	if r.Progress != nil {
		r.Progress(Progress{in.Name, c.Rows, read, in.Size})
	}
}

// refused turns a refusal of the service into the row's problem; nil when err
// is no refusal, so that the import must end.
func refused(err error, position func(field string) (name string, column int)) *problem {
	var invalid *app.ValidationError
	if errors.As(err, &invalid) {
		f := invalid.Fields[0]
		name, column := position(f.Field)
		return &problem{CodeBroken, name, column, f.Detail}
	}
	for _, known := range []struct {
		err          error
		code, detail string
	}{
		{app.ErrAlreadyReserved, "already-reserved", "this user has a reservation of this slot"},
		{app.ErrSlotFull, "slot-full", "no place is left in this slot"},
		{app.ErrSlotNotFound, codeNotFound, "the slot is no longer there"},
		{app.ErrSlotOverlap, "slot-overlap", "a slot or booking of the same resource overlaps this slot"},
	} {
		if errors.Is(err, known.err) {
			return &problem{known.code, "", 1, known.detail}
		}
	}
	return nil
}

const codeNotFound = "slot-not-found"
