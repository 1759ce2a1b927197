package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"slotkeeper/app"
)

// capacityURL names the extension that says how many people a Slot takes.
const capacityURL = "http://fhir-registry.smarthealthit.org/StructureDefinition/slot-capacity"

// fhirSlot is what counts of a FHIR R4 Slot.
type fhirSlot struct {
	ResourceType string `json:"resourceType"`
	ID           string `json:"id"`
	Schedule     struct {
		Reference string `json:"reference"`
	} `json:"schedule"`
	Status    string `json:"status"`
	Start     string `json:"start"`
	End       string `json:"end"`
	Extension []struct {
		URL          string          `json:"url"`
		ValueInteger json.RawMessage `json:"valueInteger"`
	} `json:"extension"`
}

// fhirNames are the FHIR names of what a slot's values came from.
var fhirNames = map[string]string{
	"ref": "id", "resource": "schedule.reference", "starts_at": "start", "ends_at": "end", "capacity": "slot-capacity",
}

func fhirPosition(field string) (string, int) { return fhirNames[field], 1 }

// readSmart reads FHIR Slots. A slot's ref is its relative reference
// ("Slot/20"), its resource the schedule's ("Schedule/10"): what a schedule
// offers is one actor's time, so two of its slots can't overlap unless the
// publisher means several at once. Such a schedule is no single resource, and
// its slots are imported without one.
func (r *run) readSmart() ([]slotRow, error) {
	l, err := openLines(r.Slots)
	if err != nil {
		return nil, err
	}
	rows, err := readAll(l, smartSlot)
	if err != nil {
		return nil, err
	}
	for _, schedule := range overlapping(rows) {
		r.summary.Notes = append(r.summary.Notes, fmt.Sprintf(
			"free slots of %s overlap: they are imported without a resource", schedule))
		for i := range rows {
			if rows[i].slot.Resource == schedule {
				rows[i].slot.Resource = ""
			}
		}
	}
	return rows, nil
}

func smartSlot(l line) slotRow {
	row := slotRow{line: l, position: fhirPosition}
	if l.long {
		row.problem = &problem{CodeBroken, "", 1, fmt.Sprintf("the line is longer than %d bytes", maxLine)}
		return row
	}
	var f fhirSlot
	if err := json.Unmarshal([]byte(l.text), &f); err != nil {
		row.problem = badJSON(err)
		return row
	}
	row.slot, row.problem = f.slot()
	return row
}

func badJSON(err error) *problem {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return &problem{CodeBroken, kind.Field, int(kind.Offset), fmt.Sprintf("must not be a JSON %s", kind.Value)}
	case errors.As(err, &syntax):
		return &problem{CodeBroken, "", int(syntax.Offset), "the line is not one JSON object"}
	}
	return &problem{CodeBroken, "", 1, "the line is not one JSON object"}
}

func (f fhirSlot) slot() (app.NewSlot, *problem) {
	s := app.NewSlot{Capacity: 1}
	broken := func(field, detail string) (app.NewSlot, *problem) {
		return s, &problem{CodeBroken, field, 1, detail}
	}
	if f.ResourceType != "Slot" {
		return broken("resourceType", fmt.Sprintf("must be Slot and is %q", f.ResourceType))
	}
	if f.ID == "" {
		return broken("id", "must not be empty: it is how the slot is recognised")
	}
	s.Ref = "Slot/" + f.ID
	if f.Status != "free" {
		return s, &problem{CodeNotFree, "status", 1, fmt.Sprintf("only free slots are imported; this one is %q", f.Status)}
	}
	if s.Resource = f.Schedule.Reference; s.Resource == "" {
		return broken("schedule.reference", "must not be empty")
	}
	var err error
	if s.StartsAt, err = time.Parse(time.RFC3339, f.Start); err != nil {
		return broken("start", wantTime)
	}
	if s.EndsAt, err = time.Parse(time.RFC3339, f.End); err != nil {
		return broken("end", wantTime)
	}
	for _, e := range f.Extension {
		if e.URL == capacityURL && json.Unmarshal(e.ValueInteger, &s.Capacity) != nil {
			return broken("slot-capacity", fmt.Sprintf("must be an integer from 1 to %d", app.MaxCapacity))
		}
	}
	return s, nil
}

// overlapping returns the schedules of which two slots overlap, in order. Rows
// that will be refused anyway, since they repeat a ref or end before they begin,
// overlap nothing.
func overlapping(rows []slotRow) []string {
	bySchedule := map[string][]app.NewSlot{}
	seen := map[string]bool{}
	for _, row := range rows {
		if row.problem == nil && !seen[row.slot.Ref] && row.slot.StartsAt.Before(row.slot.EndsAt) {
			seen[row.slot.Ref] = true
			bySchedule[row.slot.Resource] = append(bySchedule[row.slot.Resource], row.slot)
		}
	}
	var found []string
	for schedule, slots := range bySchedule {
		slices.SortFunc(slots, func(a, b app.NewSlot) int { return a.StartsAt.Compare(b.StartsAt) })
		for i := 1; i < len(slots); i++ {
			if slots[i].StartsAt.Before(slots[i-1].EndsAt) {
				found = append(found, schedule)
				break
			}
		}
	}
	slices.Sort(found)
	return found
}
