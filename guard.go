package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"slotkeeper/adapters"
	"slotkeeper/app"
)

type guardCmd struct {
	DB string `name:"db" placeholder:"DSN" help:"The older program's database, sqlserver://… or postgres://…; without it the script is printed unseen, as T-SQL."`

	Bookings       string   `env:"SLOTKEEPER_GUARD_BOOKINGS" placeholder:"TABLE" help:"Table whose rows take places."`
	SlotColumn     string   `env:"SLOTKEEPER_GUARD_SLOT_COLUMN" placeholder:"COLUMN" help:"Its column that names the slot; with --overlap, the resource."`
	UserColumn     string   `env:"SLOTKEEPER_GUARD_USER_COLUMN" placeholder:"COLUMN" help:"Its column that names who."`
	StatusColumn   string   `env:"SLOTKEEPER_GUARD_STATUS_COLUMN" placeholder:"COLUMN" help:"Its column that says whether a row is live."`
	Live           []string `env:"SLOTKEEPER_GUARD_LIVE" placeholder:"STATUS" help:"Its values that are live, separated by commas."`
	Slots          string   `env:"SLOTKEEPER_GUARD_SLOTS" placeholder:"TABLE" help:"Table of the slots; with --overlap, of the resources."`
	SlotsKey       string   `env:"SLOTKEEPER_GUARD_SLOTS_KEY" placeholder:"COLUMN" help:"Its key."`
	CapacityColumn string   `env:"SLOTKEEPER_GUARD_CAPACITY_COLUMN" placeholder:"COLUMN" help:"Its column for places."`
	Overlap        bool     `env:"SLOTKEEPER_GUARD_OVERLAP" help:"Guard ranges of one resource instead of capacity."`
	StartColumn    string   `env:"SLOTKEEPER_GUARD_START_COLUMN" placeholder:"COLUMN" help:"With --overlap: where a booking begins."`
	EndColumn      string   `env:"SLOTKEEPER_GUARD_END_COLUMN" placeholder:"COLUMN" help:"With --overlap: where it ends, the end not taken."`
	RowKey         string   `env:"SLOTKEEPER_GUARD_ROW_KEY" placeholder:"COLUMN" help:"With --overlap: the key of --bookings, which lets rows of before stay as they are."`
	KeyType        string   `env:"SLOTKEEPER_GUARD_KEY_TYPE" placeholder:"TYPE" help:"SQL type of --slots-key where it is no integer; with --db it is looked up."`

	Install bool `env:"-" xor:"do" help:"Put the guard on instead of printing its script."`
	Remove  bool `env:"-" xor:"do" help:"Take the guard off."`
	Verify  bool `env:"-" xor:"do" help:"Say whether the guard is on as it would be made; exit 1 if not."`

	AllowUnguardedLocks bool `help:"Install also where the server ignores lock hints: for trying things out, never for patients."`
}

// Run prints, installs, removes or verifies the guard.
func (c *guardCmd) Run(p *program) error {
	spec := c.spec()
	if err := spec.Validate(); err != nil {
		return asFlags(err)
	}
	if c.DB == "" {
		if c.Install || c.Remove || c.Verify {
			return errors.New("--db is missing: name the older program's database with sqlserver:// or postgres://")
		}
		fmt.Fprintln(p.stderr, "the tables were not looked at: add --db to learn whether the guard fits them")
		return c.print(p, spec)
	}
	ctx, stop := untilSignal()
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, guardTimeout)
	defer cancel()
	switch {
	case c.Install:
		report, err := adapters.InstallGuard(ctx, c.DB, spec, c.AllowUnguardedLocks)
		warn(p, report)
		return done(p, err, "the guard is on")
	case c.Remove:
		return done(p, adapters.RemoveGuard(ctx, c.DB, spec), "the guard is off")
	}
	report, err := adapters.InspectGuard(ctx, c.DB, spec)
	if err != nil {
		return asFlags(err)
	}
	warn(p, report)
	if c.Verify {
		return verdict(p, report)
	}
	if len(report.Problems) > 0 {
		return foundError{fmt.Errorf("the guard cannot be put on: %s", strings.Join(report.Problems, "; "))}
	}
	return c.print(p, report.Spec)
}

// guardTimeout bounds the work on the tables: a big one is counted once.
const guardTimeout = 10 * reachTimeout

func (c *guardCmd) spec() app.Guard {
	return app.Guard{
		Bookings: c.Bookings, SlotColumn: c.SlotColumn, UserColumn: c.UserColumn,
		StatusColumn: c.StatusColumn, Live: c.Live,
		Slots: c.Slots, SlotsKey: c.SlotsKey, CapacityColumn: c.CapacityColumn,
		Overlap: c.Overlap, StartColumn: c.StartColumn, EndColumn: c.EndColumn,
		RowKey: c.RowKey, KeyType: c.KeyType,
	}
}

func (c *guardCmd) print(p *program, spec app.Guard) error {
	script, err := adapters.GuardScript(c.DB, spec)
	if err != nil {
		return asFlags(err)
	}
	fmt.Fprint(p.stdout, script)
	return nil
}

func warn(p *program, report adapters.GuardReport) {
	for _, w := range report.Warnings {
		fmt.Fprintln(p.stderr, "warning:", w)
	}
}

func done(p *program, err error, what string) error {
	if err != nil {
		return foundError{asFlags(err)}
	}
	fmt.Fprintln(p.stdout, what)
	return nil
}

func verdict(p *program, report adapters.GuardReport) error {
	switch {
	case !report.Installed:
		fmt.Fprintln(p.stdout, "the guard is not on")
	case len(report.Differences) > 0:
		for _, d := range report.Differences {
			fmt.Fprintln(p.stdout, d)
		}
	default:
		fmt.Fprintln(p.stdout, "the guard is on, as it would be made")
		return nil
	}
	return foundError{}
}

var wordStart = regexp.MustCompile(`([a-z])([A-Z])`)

// asFlags names the fields of a guard as the command line does.
func asFlags(err error) error {
	var invalid *app.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	parts := make([]string, len(invalid.Fields))
	for i, f := range invalid.Fields {
		name, _, _ := strings.Cut(f.Field, "/")
		parts[i] = "--" + strings.ToLower(wordStart.ReplaceAllString(name, "$1-$2")) + " " + f.Detail
	}
	return errors.New(strings.Join(parts, "; "))
}
