package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"slotkeeper/adapters"
)

type migrateCmd struct {
	Up     migrateUpCmd     `cmd:"" help:"Apply every pending migration."`
	Down   migrateDownCmd   `cmd:"" help:"Undo the last migration; its data may be lost."`
	Status migrateStatusCmd `cmd:"" help:"List the migrations; exit 1 if one is pending."`
}

type migrateUpCmd struct{ databaseFlags }

// Run applies what is pending.
func (c *migrateUpCmd) Run(p *program) error {
	ctx, stop := untilSignal()
	defer stop()
	if err := c.reach(ctx); err != nil {
		return err
	}
	done, err := adapters.Up(ctx, c.DB)
	for _, s := range done {
		fmt.Fprintln(p.stdout, "applied", s.Name)
	}
	if err != nil {
		return foundError{err}
	}
	if len(done) == 0 {
		fmt.Fprintln(p.stdout, "nothing is pending")
	}
	return nil
}

// reach fails within a bound where the database does not answer.
func (f databaseFlags) reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	_, err := adapters.Pending(ctx, f.DB)
	return err
}

type migrateDownCmd struct {
	databaseFlags
	Yes bool `help:"Yes, undo it: what its tables hold is lost."`
}

// Run goes one step back.
func (c *migrateDownCmd) Run(p *program) error {
	ctx, stop := untilSignal()
	defer stop()
	if err := c.reach(ctx); err != nil {
		return err
	}
	if !c.Yes {
		return fmt.Errorf("migrate down undoes the last migration of %s, and what its tables hold is lost: add --yes if you mean it",
			adapters.Redact(c.DB))
	}
	undone, err := adapters.Down(ctx, c.DB)
	if err != nil {
		return foundError{err}
	}
	fmt.Fprintln(p.stdout, "undone", undone.Name)
	return nil
}

type migrateStatusCmd struct {
	databaseFlags
	JSON bool `name:"json" help:"Print JSON."`
}

// Run lists the migrations.
func (c *migrateStatusCmd) Run(p *program) error {
	ctx, stop := untilSignal()
	defer stop()
	if err := c.reach(ctx); err != nil {
		return err
	}
	steps, err := adapters.Status(ctx, c.DB)
	if err != nil {
		return err
	}
	pending := false
	for _, s := range steps {
		pending = pending || s.Pending
		if !c.JSON {
			fmt.Fprintf(p.stdout, "%-20s %s\n", appliedAt(s), s.Name)
		}
	}
	if c.JSON {
		if err := json.NewEncoder(p.stdout).Encode(steps); err != nil {
			return foundError{err}
		}
	}
	if pending {
		return foundError{}
	}
	return nil
}

func appliedAt(s adapters.Step) string {
	switch {
	case s.Pending:
		return "pending"
	case s.Applied.IsZero():
		return "applied"
	}
	return s.Applied.Format(time.RFC3339)
}
