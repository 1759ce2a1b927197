package importer

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func smart(t *testing.T, c *clinic, text, asks string) (Summary, []Reject) {
	t.Helper()
	var rejects []Reject
	job := Job{Format: Smart,
		Slots:  Input{Name: "slots.ndjson", Data: strings.NewReader(text)},
		Reject: func(r Reject) error { rejects = append(rejects, r); return nil },
	}
	if asks != "" {
		job.Reservations = &Input{Name: "asks.csv", Data: strings.NewReader(asks)}
	}
	summary, err := Run(context.Background(), c, job)
	require.NoError(t, err)
	return summary, rejects
}

// fhir is one Slot line; extra stands behind the other members.
func fhir(id, schedule, status, start, end, extra string) string {
	return `{"resourceType":"Slot","id":"` + id + `","schedule":{"reference":"` + schedule + `"},"status":"` + status +
		`","start":"` + start + `","end":"` + end + `"` + extra + "}\n"
}

const nine, ten, eleven = "2044-03-01T09:00:00.000Z", "2044-03-01T10:00:00.000Z", "2044-03-01T11:00:00.000Z"

func capacity(n string) string {
	return `,"extension":[{"url":"http://example.org/other","valueString":"x"},{"url":"` + capacityURL + `","valueInteger":` + n + `}]`
}

func TestSmart(t *testing.T) {
	c := newClinic()
	text := "\ufeff" + fhir("1", "Schedule/10", "free", nine, ten, capacity("100")) + "\r\n" +
		fhir("2", "Schedule/10", "busy", ten, eleven, "") +
		fhir("3", "Schedule/10", "free", ten, eleven, "")
	summary, rejects := smart(t, c, text, "slot_ref,user_id\nSlot/3,p1\nSlot/2,p2\n")
	assert.Equal(t, map[string]int{CodeCreated: 2, CodeNotFree: 1}, summary.Slots.Codes)
	assert.Equal(t, map[string]int{CodeReserved: 1, "slot-not-found": 1}, summary.Reservations.Codes)
	assert.Empty(t, summary.Notes)
	require.Len(t, c.slots, 2)
	assert.Equal(t, 100, c.slots[0].Capacity)
	assert.Equal(t, 1, c.slots[1].Capacity, "a slot without the extension takes one")
	assert.Equal(t, "Slot/1", c.slots[0].Ref)
	assert.Equal(t, "Schedule/10", c.slots[0].Resource)
	require.Len(t, rejects, 2)
	assert.Equal(t, `slots.ndjson:3:1: status: only free slots are imported; this one is "busy"`, rejects[0].String())
	assert.Equal(t, `asks.csv:3:1: slot_ref: the slot was not imported, see slots.ndjson:3`, rejects[1].String())
}

// A schedule that offers several slots at once is no single resource; back to
// back is no overlap, nor is a line that is there twice or ends before it
// begins. Seen red with the overlap taken for closed ranges, with the slots left
// on their schedule, and with those lines compared.
func TestSmartOverlap(t *testing.T) {
	c := newClinic()
	summary, _ := smart(t, c,
		fhir("1", "Schedule/10", "free", nine, eleven, "")+
			fhir("2", "Schedule/11", "free", nine, ten, "")+
			fhir("3", "Schedule/11", "free", ten, eleven, "")+
			fhir("3", "Schedule/11", "free", ten, eleven, "")+
			fhir("5", "Schedule/11", "free", eleven, nine, "")+
			fhir("4", "Schedule/10", "free", ten, eleven, ""), "")
	assert.Equal(t, []string{"free slots of Schedule/10 overlap: they are imported without a resource"}, summary.Notes)
	require.Len(t, c.slots, 5, "only a Service refuses Slot/5")
	got := map[string]string{}
	for _, s := range c.slots {
		got[s.Ref] = s.Resource
	}
	assert.Equal(t, map[string]string{"Slot/1": "", "Slot/2": "Schedule/11", "Slot/3": "Schedule/11", "Slot/4": "", "Slot/5": "Schedule/11"}, got)
}

func TestSmartBrokenRows(t *testing.T) {
	good := fhir("0", "Schedule/10", "free", nine, ten, "")
	for name, c := range map[string]struct{ line, want string }{
		"no JSON":        {"{\"resourceType\":", "slots.ndjson:2:16: the line is not one JSON object"},
		"two objects":    {"{} {}", "slots.ndjson:2:4: the line is not one JSON object"},
		"a list":         {"[]", "slots.ndjson:2:1: must not be a JSON array"},
		"wrong shape":    {`{"resourceType":"Slot","id":7}`, "slots.ndjson:2:29: id: must not be a JSON number"},
		"another kind":   {`{"resourceType":"Location","id":"7"}`, `slots.ndjson:2:1: resourceType: must be Slot and is "Location"`},
		"no id":          {fhir("", "Schedule/10", "free", nine, ten, ""), "id: must not be empty"},
		"no schedule":    {fhir("7", "", "free", nine, ten, ""), "schedule.reference: must not be empty"},
		"bad start":      {fhir("7", "Schedule/10", "free", "09:00", ten, ""), "start: must be a time with an offset"},
		"bad end":        {fhir("7", "Schedule/10", "free", nine, "", ""), "end: must be a time with an offset"},
		"half a person":  {fhir("7", "Schedule/10", "free", nine, ten, capacity("0.5")), "slot-capacity: must be an integer from 1 to 1000000"},
		"huge capacity":  {fhir("7", "Schedule/10", "free", nine, ten, capacity("99999999999999999999")), "slot-capacity: must be an integer"},
		"capacity words": {fhir("7", "Schedule/10", "free", nine, ten, capacity(`"many"`)), "slot-capacity: must be an integer"},
	} {
		t.Run(name, func(t *testing.T) {
			summary, rejects := smart(t, newClinic(), good+strings.TrimSuffix(c.line, "\n")+"\n"+fhir("9", "Schedule/9", "free", nine, ten, ""), "")
			assert.Equal(t, map[string]int{CodeCreated: 2, CodeBroken: 1}, summary.Slots.Codes)
			require.Len(t, rejects, 1)
			assert.Contains(t, rejects[0].String(), c.want)
		})
	}
}
