package adapters

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"slotkeeper/app"
	"slotkeeper/sqlserver"
)

// Tables are an older program's tables on SQL Server to serve, under the guard:
// plain names, as in the flags of slotkeeper guard. docs/sqlserver-dba.md says
// what each is.
type Tables struct {
	Slots          string `json:"slots"`
	SlotsKey       string `json:"slots_key"`
	SlotStart      string `json:"slot_start"`
	SlotEnd        string `json:"slot_end"`
	CapacityColumn string `json:"capacity_column"`

	Bookings      string   `json:"bookings"`
	BookingsKey   string   `json:"bookings_key"`
	SlotColumn    string   `json:"slot_column"`
	UserColumn    string   `json:"user_column"`
	CreatedColumn string   `json:"created_column"` // may be missing, as all that follow
	StatusColumn  string   `json:"status_column"`
	Live          []string `json:"live"`
	Cancelled     string   `json:"cancelled"`
	Zone          string   `json:"zone"`
}

// ReadTables reads a JSON file of names. Errors: sentences that name the file
// and all that is wrong in it.
func ReadTables(file string) (*Tables, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("--serve-tables: %w", err)
	}
	defer f.Close()
	var t Tables
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return nil, fmt.Errorf("--serve-tables: %s is not the JSON object of names that docs/sqlserver-dba.md describes: %w", file, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("--serve-tables: %s has something behind its JSON object: take it out", file)
	}
	if err := t.validate(); err != nil {
		return nil, fmt.Errorf("--serve-tables: in %s %w", file, err)
	}
	return &t, nil
}

func (t Tables) validate() error {
	var wrong []string
	for _, need := range []struct{ member, name string }{
		{"slot_start", t.SlotStart}, {"slot_end", t.SlotEnd}, {"bookings_key", t.BookingsKey}, {"user_column", t.UserColumn},
	} {
		if need.name == "" {
			wrong = append(wrong, need.member+" must be named")
		}
	}
	if t.Cancelled != "" && t.StatusColumn == "" {
		wrong = append(wrong, "cancelled needs a status_column")
	}
	err := t.guard().Validate()
	var invalid *app.ValidationError
	if err != nil && !errors.As(err, &invalid) {
		return err
	}
	if invalid != nil {
		for _, f := range invalid.Fields {
			name, _, _ := strings.Cut(f.Field, "/")
			wrong = append(wrong, strings.ToLower(wordStart.ReplaceAllString(name, "${1}_$2"))+" "+f.Detail)
		}
	}
	if wrong != nil {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

var wordStart = regexp.MustCompile(`([a-z])([A-Z])`)

func (t Tables) guard() app.Guard {
	return app.Guard{
		Bookings: t.Bookings, SlotColumn: t.SlotColumn, UserColumn: t.UserColumn, StatusColumn: t.StatusColumn, Live: t.Live,
		Slots: t.Slots, SlotsKey: t.SlotsKey, CapacityColumn: t.CapacityColumn,
	}
}

// served is nil for nil.
func (t *Tables) served() *sqlserver.Tables {
	if t == nil {
		return nil
	}
	return &sqlserver.Tables{
		Guard: t.guard(), SlotStart: t.SlotStart, SlotEnd: t.SlotEnd, BookingKey: t.BookingsKey,
		CreatedColumn: t.CreatedColumn, Cancelled: t.Cancelled, Zone: t.Zone,
	}
}

// validateTables refuses what does not go together.
func validateTables(engine Engine, o Options) error {
	switch {
	case o.Tables == nil:
		return nil
	case engine != SQLServer:
		return fmt.Errorf("--serve-tables is for sqlserver alone: leave it out with %s", engine)
	case o.Ranges != "":
		return errors.New("--ranges is for Slotkeeper's own tables: leave it out with --serve-tables")
	}
	return o.Tables.validate()
}
