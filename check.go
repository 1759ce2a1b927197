package main

import (
	"encoding/json"
	"fmt"

	"slotkeeper/app"
)

type checkCmd struct {
	servedFlags
	JSON bool `name:"json" help:"Print JSON."`
}

// Run counts again from the rows and lists what is broken.
func (c *checkCmd) Run(p *program) error {
	if err := c.validate(); err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	store, err := c.open(ctx, p.warnings(), false)
	if err != nil {
		return err
	}
	defer store.Close()
	service := app.NewService(store, c.appConfig(false))
	defer service.Close()
	faults, err := service.Check(ctx)
	if err != nil {
		return fmt.Errorf("could not check: %w", err)
	}
	if err := printFaults(p, faults, c.JSON); err != nil {
		return foundError{err}
	}
	if len(faults) > 0 {
		return foundError{}
	}
	return nil
}

// fault is an app.Fault as JSON.
type fault struct {
	Kind     app.FaultKind `json:"kind"`
	SlotID   int64         `json:"slot_id,omitempty"`
	Resource string        `json:"resource,omitempty"`
	Capacity int           `json:"capacity"`
	Counter  int           `json:"counter"`
	Counted  int           `json:"counted"`
	Detail   string        `json:"detail"`
}

func printFaults(p *program, faults []app.Fault, asJSON bool) error {
	if asJSON {
		list := make([]fault, len(faults))
		for i, f := range faults {
			list[i] = fault(f)
		}
		return json.NewEncoder(p.stdout).Encode(map[string][]fault{"faults": list})
	}
	for _, f := range faults {
		fmt.Fprintln(p.stdout, f.Detail)
	}
	if len(faults) == 0 {
		fmt.Fprintln(p.stdout, "nothing is broken: every counter equals its rows, no slot is over-full, no resource is taken twice")
	}
	return nil
}
