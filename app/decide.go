package app

import "time"

// Place is a reservation's key: one user in one slot.
type Place struct {
	SlotID int64
	UserID string
}

// Scene is what an engine read, under the locks of the slots concerned, to
// judge ops by. Holds that had expired by Now are gone from Reserved and Live.
type Scene struct {
	Now     time.Time             // by the database's clock
	Slots   map[int64]Slot        // the slots that exist
	Live    map[Place]Reservation // the live reservations of the ops' places
	Expired map[Place]bool        // places of Confirm ops whose hold expired and is remembered
}

// Plan is what to write so that each op has its Outcome: confirmations, then
// deletes (of what was just confirmed, too), then inserts, so that no state in
// between is over-full.
type Plan struct {
	Outcomes []Outcome     // in the order of the ops
	Confirm  []Reservation // holds to confirm
	Cancel   []Reservation // to delete
	Insert   []int         // indices of ops whose outcome's reservation lacks its ID
}

// Decide judges each op on its own, in order, as if each came alone. It is
// pure: the engine that made the scene holds the locks that keep it true, and
// its constraints remain the guarantee. ops are as Batcher.Write takes them.
func Decide(sc Scene, ops []Op) Plan {
	p := Plan{Outcomes: make([]Outcome, len(ops))}
	for i, op := range ops {
		slot, ok := sc.Slots[op.SlotID]
		if !ok {
			p.Outcomes[i].Err = ErrSlotNotFound
			continue
		}
		at := Place{op.SlotID, op.UserID}
		live, has := sc.Live[at]
		switch op.Action {
		case ActReserve:
			if err := refusal(slot, sc.Now, has, op.AllowPast); err != nil {
				p.Outcomes[i].Err = err
				continue
			}
			r := sc.reservation(op)
			slot.Reserved++
			sc.Slots[op.SlotID], sc.Live[at] = slot, r
			p.Outcomes[i].Reservation = r
			p.Insert = append(p.Insert, i)
		case ActCancel:
			if !has {
				p.Outcomes[i].Err = ErrReservationNotFound
				continue
			}
			slot.Reserved--
			sc.Slots[op.SlotID] = slot
			delete(sc.Live, at)
			p.Cancel = append(p.Cancel, live)
		case ActConfirm:
			p.confirm(sc, i, at)
		}
	}
	return p
}

// refusal says why a place is refused, nil if it is not. The duplicate comes
// first: who has a place is told so even when the slot is full.
func refusal(s Slot, now time.Time, has, allowPast bool) error {
	switch {
	case has:
		return ErrAlreadyReserved
	case !allowPast && !s.StartsAt.After(now):
		return ErrSlotStarted
	case s.Available() <= 0:
		return ErrSlotFull
	}
	return nil
}

func (sc Scene) reservation(op Op) Reservation {
	r := Reservation{SlotID: op.SlotID, UserID: op.UserID, Status: Confirmed, CreatedAt: op.CreatedAt}
	if r.CreatedAt.IsZero() {
		r.CreatedAt = sc.Now
	}
	if op.Hold > 0 {
		r.Status, r.ExpiresAt = Held, sc.Now.Add(op.Hold)
	}
	return r
}

func (p *Plan) confirm(sc Scene, i int, at Place) {
	r, has := sc.Live[at]
	switch {
	case has && r.Status == Held:
		r.Status, r.ExpiresAt = Confirmed, time.Time{}
		sc.Live[at] = r
		p.Confirm = append(p.Confirm, r)
		fallthrough
	case has:
		p.Outcomes[i].Reservation = r
	case sc.Expired[at]:
		p.Outcomes[i].Err = ErrHoldExpired
	default:
		p.Outcomes[i].Err = ErrReservationNotFound
	}
}

// Refuse judges the Reserve ops of a Batcher.Peek by a scene read without locks.
func Refuse(sc Scene, ops []Op) []error {
	errs := make([]error, len(ops))
	for i, op := range ops {
		slot, ok := sc.Slots[op.SlotID]
		if !ok {
			errs[i] = ErrSlotNotFound
			continue
		}
		_, has := sc.Live[Place{op.SlotID, op.UserID}]
		errs[i] = refusal(slot, sc.Now, has, op.AllowPast)
	}
	return errs
}

// Together returns nil when every op was allowed, and *ManyError over those
// that were not: what is asked for together is written together or not at all.
func Together(outcomes []Outcome) error {
	var failures []Failure
	for i, o := range outcomes {
		if o.Err != nil {
			failures = append(failures, Failure{i, o.Err})
		}
	}
	if failures == nil {
		return nil
	}
	return &ManyError{Failures: failures}
}

// JudgeBookings says which of the bookings cannot be, as *ManyError: known has
// the resources that exist, by key, and busy the positions in bs that are
// taken already. Two items of one request may not overlap either.
func JudgeBookings(bs []NewBooking, known map[string]Resource, busy map[int]bool) error {
	var failures []Failure
	for i, b := range bs {
		r, ok := known[b.Resource]
		switch {
		case !ok:
			failures = append(failures, Failure{i, ErrResourceNotFound})
		case b.Kind != "" && b.Kind != r.Kind:
			failures = append(failures, Failure{i, &ValidationError{Fields: []FieldError{{string(b.Kind), "names a resource of kind " + string(r.Kind)}}}})
		case busy[i] || overlapsEarlier(bs[:i], b):
			failures = append(failures, Failure{i, ErrResourceBusy})
		}
	}
	if failures == nil {
		return nil
	}
	return &ManyError{Failures: failures}
}

func overlapsEarlier(bs []NewBooking, b NewBooking) bool {
	for _, o := range bs {
		if o.Resource == b.Resource && o.StartsAt.Before(b.EndsAt) && b.StartsAt.Before(o.EndsAt) {
			return true
		}
	}
	return false
}
