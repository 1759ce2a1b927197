// Package histories has many clients send random requests to two processes on
// one database, notes when each was sent and answered, and asks a checker
// whether what was answered could have been answered by one slot that does one
// thing at a time (linearizability).
package histories

import (
	"fmt"
	"hash/maphash"
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// users is how many people ask for one slot.
const users = 5

// never stands for the end of a request that was not answered.
const never = time.Duration(math.MaxInt64 / 2)

// slack covers clocks that count in milliseconds.
const slack = 5 * time.Millisecond

// kind is what a client asks for.
type kind string

const (
	reserve  kind = "reserve" // a hold, if asked.hold is set
	confirm  kind = "confirm"
	cancel   kind = "cancel"
	readSlot kind = "read slot"
	readOne  kind = "read reservation"
	edit     kind = "edit"
)

// asked is a request for the slot that a history is of.
type asked struct {
	kind       kind
	user       int
	hold       time.Duration // 0 reserves at once
	version    int64         // If-Match of an edit
	capacity   int           // of an edit
	sent, back time.Duration // by the client's clock; back may be never
}

// told is an answer. code is a problem's code, ok, or unknown.
type told struct {
	code     string
	id       int64 // of the reservation
	held     bool
	capacity int
	reserved int
	version  int64
}

const (
	ok      = "ok"
	unknown = "" // no answer, or one that says that it may have been done
)

// place is what a slot knows about one user.
type place struct {
	live     bool
	held     bool
	id       int64         // 0: its reserve was not answered
	from, to time.Duration // within these a hold expires
	late     bool          // a hold has expired, so a confirmation is told so
}

// slot is the state of the model.
type slot struct {
	capacity int
	version  int64
	places   [users]place
}

func (s slot) reserved() (n int) {
	for _, p := range s.places {
		if p.live {
			n++
		}
	}
	return n
}

// model is a slot that begins with this capacity and version 1.
//
// Hold times are known by the clients' clock only: a hold of d that was sent at
// a and answered at b expires between a+d and b+d, and a request may see that
// if it was answered after the first and must if it was sent after the second.
// What writes under the slot's lock looks at the clock under that lock, so what
// it has seen expired stays so. A reader has no lock and binds nobody: it may
// see a hold run out while a confirmation that was judged a moment earlier is
// on its way to the disk.
func model(capacity int) porcupine.Model {
	seed := maphash.MakeSeed()
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{slot{capacity: capacity, version: 1}} },
		Step: func(state, input, output any) []any {
			return step(state.(slot), input.(asked), output.(told))
		},
		Hash:              func(state any) uint64 { return maphash.Comparable(seed, state.(slot)) },
		DescribeOperation: describe,
	}
	return m.ToModel()
}

// step returns the states that s may be in after this answer; none where s
// could not have given it.
func step(s slot, in asked, out told) []any {
	var next []any
	for _, v := range moments(s, in) {
		if out.code == ok || out.code == unknown {
			if after, can := v.do(in, out); can {
				next = append(next, after)
			}
		} else if v.refuses(in, out) {
			return []any{s}
		}
	}
	switch {
	case out.code == unknown:
		next = append(next, s) // not done
	case len(next) > 0 && in.kind == readSlot:
		return []any{s}
	case len(next) > 0 && in.kind == readOne:
		s.places[in.user].id = out.id
		return []any{s}
	}
	return next
}

// moments are the states in which a request may find s, by what has expired.
func moments(s slot, in asked) []slot {
	all := []slot{s}
	for i, p := range s.places {
		if !p.live || !p.held || in.back < p.from {
			continue
		}
		gone := place{late: true}
		for n := range all {
			if in.sent < p.to { // it may still be there
				all = append(all, all[n])
			}
			all[n].places[i] = gone
		}
	}
	return all
}

// do carries the request out, if s can and the answer fits.
func (s slot) do(in asked, out told) (slot, bool) {
	p := &s.places[in.user]
	fits := out.code == unknown || p.id == 0 || p.id == out.id
	switch in.kind {
	case reserve:
		if p.live || s.reserved() >= s.capacity {
			return s, false
		}
		*p = place{live: true, id: out.id, late: p.late}
		if in.hold > 0 {
			p.held, p.from, p.to = true, in.sent+in.hold-slack, never
			if in.back != never {
				p.to = in.back + in.hold + slack
			}
		}
		return s, out.code == unknown || out.held == p.held
	case confirm:
		if !p.live || !fits || out.held {
			return s, false
		}
		*p = place{live: true, id: max(p.id, out.id), late: p.late}
		return s, true
	case cancel:
		if !p.live {
			return s, false
		}
		*p = place{late: p.late}
		return s, true
	case readOne:
		return s, p.live && fits && p.held == out.held
	case readSlot:
		return s, s.shows(out)
	case edit:
		if s.version != in.version || s.reserved() > in.capacity {
			return s, false
		}
		s.version, s.capacity = s.version+1, in.capacity
		return s, out.code == unknown || s.shows(out)
	}
	return s, false
}

func (s slot) shows(out told) bool {
	return s.capacity == out.capacity && s.version == out.version && s.reserved() == out.reserved
}

// refuses says whether s refuses the request with this code.
func (s slot) refuses(in asked, out told) bool {
	p := s.places[in.user]
	switch out.code {
	case "already-reserved":
		return in.kind == reserve && p.live
	case "slot-full":
		return in.kind == reserve && !p.live && s.reserved() >= s.capacity
	case "hold-expired":
		return in.kind == confirm && !p.live && p.late
	case "reservation-not-found":
		return in.kind == cancel && !p.live || in.kind == readOne && !p.live || in.kind == confirm && !p.live && !p.late
	case "version-mismatch":
		return in.kind == edit && s.version != in.version
	case "capacity-below-reserved":
		return in.kind == edit && s.version == in.version && s.reserved() > in.capacity && s.reserved() == out.reserved
	}
	return false // an answer that this request never gets
}

func describe(input, output any) string {
	in, out := input.(asked), output.(told)
	text := fmt.Sprintf("%s by %d", in.kind, in.user)
	switch {
	case in.kind == edit:
		text = fmt.Sprintf("edit version %d to capacity %d", in.version, in.capacity)
	case in.kind == readSlot:
		text = string(in.kind)
	case in.hold > 0:
		text = fmt.Sprintf("hold for %v by %d", in.hold, in.user)
	}
	if out.code == unknown {
		return text + ": no answer"
	}
	return fmt.Sprintf("%s: %s %+v", text, out.code, out)
}
