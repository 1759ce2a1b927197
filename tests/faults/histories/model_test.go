package histories

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// past is one request of a history written by hand; times are milliseconds.
type past struct {
	from, to int
	in       asked
	out      told
}

func done(id int64) told        { return told{code: ok, id: id} }
func refused(code string) told  { return told{code: code} }
func by(k kind, user int) asked { return asked{kind: k, user: user} }
func holding(user, ms int) asked {
	return asked{kind: reserve, user: user, hold: time.Duration(ms) * time.Millisecond}
}
func editing(v int64, c int) asked { return asked{kind: edit, version: v, capacity: c} }
func showing(capacity, reserved int, version int64) told {
	return told{code: ok, capacity: capacity, reserved: reserved, version: version}
}

func verdict(capacity int, all []past) porcupine.CheckResult {
	var ops []porcupine.Operation
	for i, p := range all {
		p.in.sent, p.in.back = time.Duration(p.from)*time.Millisecond, time.Duration(p.to)*time.Millisecond
		if p.out.code == unknown {
			p.in.back = never
		}
		ops = append(ops, porcupine.Operation{ClientId: i, Input: p.in, Output: p.out, Call: int64(p.in.sent), Return: int64(p.in.back)})
	}
	return porcupine.CheckOperationsTimeout(model(capacity), ops, time.Minute)
}

var held = told{code: ok, id: 1, held: true}

// What a correct service may answer.
// Seen red with: step without the state in which an unanswered request was not
// done; a reader that saw a hold expired binding those behind it.
func TestWhatMayBe(t *testing.T) {
	for name, h := range map[string][]past{
		"two at once for one place":       {{0, 9, by(reserve, 0), refused("slot-full")}, {1, 8, by(reserve, 1), done(1)}},
		"a second click":                  {{0, 9, by(reserve, 0), refused("already-reserved")}, {1, 8, by(reserve, 0), done(1)}},
		"a place given back":              {{0, 1, by(reserve, 0), done(1)}, {2, 9, by(reserve, 1), done(2)}, {3, 8, by(cancel, 0), done(0)}},
		"an unanswered one that was done": {{0, 1, by(reserve, 0), refused(unknown)}, {2, 3, by(reserve, 1), refused("slot-full")}},
		"an unanswered one that was not":  {{0, 1, by(reserve, 0), refused(unknown)}, {2, 3, by(reserve, 1), done(1)}},
		"an unanswered one that is done later": {{0, 1, by(reserve, 0), refused(unknown)},
			{2, 3, by(readSlot, 0), showing(1, 0, 1)}, {4, 5, by(readSlot, 0), showing(1, 1, 1)}},
		"a hold that runs out":                    {{0, 1, holding(0, 1000), held}, {1100, 1101, by(reserve, 1), done(2)}, {1102, 1103, by(confirm, 0), refused("hold-expired")}},
		"a hold that may be either at its moment": {{0, 10, holding(0, 1000), held}, {1005, 1006, by(readSlot, 0), showing(1, 0, 1)}, {1004, 1009, by(confirm, 0), done(1)}},
		"edits one after the other":               {{0, 9, editing(1, 2), showing(2, 0, 2)}, {1, 8, editing(1, 3), refused("version-mismatch")}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, porcupine.Ok, verdict(1, h)) })
	}
}

// What it must never answer: a checker that lets everything pass is red here.
// Seen red with: do without the tests of capacity, of the version and of the
// reservation's id; refuses returning true; moments without the time before
// which no hold expires, and without the one after which each has.
func TestWhatMayNotBe(t *testing.T) {
	for name, h := range map[string][]past{
		"two in one place":                 {{0, 9, by(reserve, 0), done(1)}, {1, 8, by(reserve, 1), done(2)}},
		"one user twice":                   {{0, 9, by(reserve, 0), done(1)}, {1, 8, by(reserve, 0), done(2)}},
		"full though nobody is there":      {{0, 1, by(reserve, 0), refused("slot-full")}},
		"full after a cancel was answered": {{0, 1, by(reserve, 0), done(1)}, {2, 3, by(cancel, 0), done(0)}, {4, 5, by(reserve, 1), refused("slot-full")}},
		"a duplicate called full":          {{0, 1, by(reserve, 0), done(1)}, {2, 3, by(reserve, 0), refused("slot-full")}},
		"a read of the past":               {{0, 1, by(reserve, 0), done(1)}, {2, 3, by(readSlot, 0), showing(1, 0, 1)}},
		"a reservation that is lost":       {{0, 1, by(reserve, 0), done(1)}, {2, 3, by(readOne, 0), refused("reservation-not-found")}},
		"another one's reservation":        {{0, 1, by(reserve, 0), done(1)}, {2, 3, by(readOne, 0), done(2)}},
		"two cancels of one":               {{0, 1, by(reserve, 0), done(1)}, {2, 9, by(cancel, 0), done(0)}, {3, 8, by(cancel, 0), done(0)}},
		"a lost edit":                      {{0, 9, editing(1, 2), showing(2, 0, 2)}, {1, 8, editing(1, 3), showing(3, 0, 2)}},
		"two edits of one version":         {{0, 9, editing(1, 2), showing(2, 0, 2)}, {1, 8, editing(1, 3), showing(3, 0, 3)}},
		"capacity under what is reserved":  {{0, 1, editing(1, 2), showing(2, 0, 2)}, {2, 3, by(reserve, 0), done(1)}, {2, 3, by(reserve, 1), done(2)}, {4, 5, editing(2, 1), showing(1, 2, 3)}},
		"a hold expires early":             {{0, 1, holding(0, 1000), held}, {900, 901, by(reserve, 1), done(2)}},
		"a hold that stays":                {{0, 1, holding(0, 1000), held}, {1100, 1101, by(reserve, 1), refused("slot-full")}},
		"a hold confirmed too late":        {{0, 1, holding(0, 1000), held}, {1100, 1101, by(confirm, 0), done(1)}},
		"a confirmed one that expires":     {{0, 1, holding(0, 1000), held}, {2, 3, by(confirm, 0), done(1)}, {1100, 1101, by(readSlot, 0), showing(1, 0, 1)}},
		"a hold given away and confirmed":  {{0, 10, holding(0, 1000), held}, {1000, 1006, by(reserve, 1), done(2)}, {1007, 1009, by(confirm, 0), done(1)}},
		"one unanswered, done twice":       {{0, 1, by(reserve, 0), refused(unknown)}, {2, 3, by(readOne, 0), done(1)}, {4, 5, by(cancel, 0), done(0)}, {6, 7, by(readOne, 0), done(2)}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, porcupine.Illegal, verdict(1, h)) })
	}
}
