package app

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2090, 6, 1, 12, 0, 0, 0, time.UTC) // the scenes' now

// scene has one slot of each sort: 1 has places, 2 is full (alice and the held
// bob), 3 has started and is full (alice), 4 starts this very instant.
func scene() Scene {
	later, earlier := noon.Add(time.Hour), noon.Add(-time.Hour)
	return Scene{
		Now: noon,
		Slots: map[int64]Slot{
			1: {ID: 1, StartsAt: later, Capacity: 2},
			2: {ID: 2, StartsAt: later, Capacity: 2, Reserved: 2},
			3: {ID: 3, StartsAt: earlier, Capacity: 1, Reserved: 1},
			4: {ID: 4, StartsAt: noon, Capacity: 1},
		},
		Live: map[Place]Reservation{
			{2, "alice"}: {ID: 21, SlotID: 2, UserID: "alice", Status: Confirmed},
			{2, "bob"}:   {ID: 22, SlotID: 2, UserID: "bob", Status: Held, ExpiresAt: later},
			{3, "alice"}: {ID: 31, SlotID: 3, UserID: "alice", Status: Confirmed},
		},
		Expired: map[Place]bool{{2, "carol"}: true},
	}
}

// Seen red with: ErrSlotFull before ErrAlreadyReserved, ErrSlotFull before
// ErrSlotStarted, AllowPast ignored, a slot that starts now taken as not begun.
func TestRefusalsComeInOrder(t *testing.T) {
	for _, c := range []struct {
		name string
		op   Op
		want error
	}{
		{"a place is left", Op{SlotID: 1, UserID: "alice"}, nil},
		{"no such slot", Op{SlotID: 9, UserID: "alice"}, ErrSlotNotFound},
		{"full", Op{SlotID: 2, UserID: "dave"}, ErrSlotFull},
		{"full, but has it already", Op{SlotID: 2, UserID: "alice"}, ErrAlreadyReserved},
		{"full, but holds it already", Op{SlotID: 2, UserID: "bob"}, ErrAlreadyReserved},
		{"another spelling is another user", Op{SlotID: 2, UserID: "Alice"}, ErrSlotFull},
		{"started, full, has it already", Op{SlotID: 3, UserID: "alice"}, ErrAlreadyReserved},
		{"started and full", Op{SlotID: 3, UserID: "dave"}, ErrSlotStarted},
		{"started and full, past allowed", Op{SlotID: 3, UserID: "dave", AllowPast: true}, ErrSlotFull},
		{"starts now", Op{SlotID: 4, UserID: "dave"}, ErrSlotStarted},
		{"starts now, past allowed", Op{SlotID: 4, UserID: "dave", AllowPast: true}, nil},
		{"expired hold of one's own does not count", Op{SlotID: 2, UserID: "carol"}, ErrSlotFull},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.ErrorIs(t, Decide(scene(), []Op{c.op}).Outcomes[0].Err, c.want)
			require.ErrorIs(t, Refuse(scene(), []Op{c.op})[0], c.want)
		})
	}
}

func ids(rs []Reservation) []int64 {
	var list []int64
	for _, r := range rs {
		list = append(list, r.ID)
	}
	return list
}

func TestDecideConfirmAndCancel(t *testing.T) {
	for _, c := range []struct {
		name    string
		op      Op
		want    error
		confirm []int64
		cancel  []int64
	}{
		{"confirm a hold", Op{Action: ActConfirm, SlotID: 2, UserID: "bob"}, nil, []int64{22}, nil},
		{"confirm what is confirmed", Op{Action: ActConfirm, SlotID: 2, UserID: "alice"}, nil, nil, nil},
		{"confirm an expired hold", Op{Action: ActConfirm, SlotID: 2, UserID: "carol"}, ErrHoldExpired, nil, nil},
		{"confirm nothing", Op{Action: ActConfirm, SlotID: 2, UserID: "dave"}, ErrReservationNotFound, nil, nil},
		{"confirm in no slot", Op{Action: ActConfirm, SlotID: 9, UserID: "bob"}, ErrSlotNotFound, nil, nil},
		{"cancel", Op{Action: ActCancel, SlotID: 2, UserID: "alice"}, nil, nil, []int64{21}},
		{"cancel a hold", Op{Action: ActCancel, SlotID: 2, UserID: "bob"}, nil, nil, []int64{22}},
		{"cancel after the start", Op{Action: ActCancel, SlotID: 3, UserID: "alice"}, nil, nil, []int64{31}},
		{"cancel an expired hold", Op{Action: ActCancel, SlotID: 2, UserID: "carol"}, ErrReservationNotFound, nil, nil},
		{"cancel nothing", Op{Action: ActCancel, SlotID: 1, UserID: "alice"}, ErrReservationNotFound, nil, nil},
		{"cancel in no slot", Op{Action: ActCancel, SlotID: 9, UserID: "alice"}, ErrSlotNotFound, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Decide(scene(), []Op{c.op})
			require.ErrorIs(t, p.Outcomes[0].Err, c.want)
			require.Equal(t, c.confirm, ids(p.Confirm))
			require.Equal(t, c.cancel, ids(p.Cancel))
			require.Empty(t, p.Insert)
			if c.op.Action == ActConfirm && c.want == nil {
				r := p.Outcomes[0].Reservation
				require.Equal(t, Confirmed, r.Status)
				require.Zero(t, r.ExpiresAt)
				require.Equal(t, c.op.UserID, r.UserID)
			}
		})
	}
}

// Each op sees what those before it did. Seen red with: reserved not counted
// up, not counted down, the live reservation not noted, the cancelled one kept.
func TestDecideInOrder(t *testing.T) {
	ops := []Op{
		{SlotID: 1, UserID: "alice"},
		{SlotID: 1, UserID: "alice"},
		{SlotID: 1, UserID: "bob"},
		{SlotID: 1, UserID: "carol"},
		{SlotID: 2, UserID: "dave"},
		{Action: ActCancel, SlotID: 2, UserID: "alice"},
		{Action: ActCancel, SlotID: 2, UserID: "alice"},
		{SlotID: 2, UserID: "dave"},
		{SlotID: 2, UserID: "alice"},
		{Action: ActConfirm, SlotID: 2, UserID: "bob"},
		{Action: ActConfirm, SlotID: 2, UserID: "bob"},
		{Action: ActCancel, SlotID: 2, UserID: "bob"},
		{SlotID: 2, UserID: "alice"},
		{SlotID: 9, UserID: "alice"},
	}
	want := []error{
		nil, ErrAlreadyReserved, nil, ErrSlotFull,
		ErrSlotFull, nil, ErrReservationNotFound, nil, ErrSlotFull,
		nil, nil, nil, nil, ErrSlotNotFound,
	}
	p := Decide(scene(), ops)
	for i := range ops {
		require.ErrorIs(t, p.Outcomes[i].Err, want[i], "op %d", i)
	}
	require.Equal(t, []int{0, 2, 7, 12}, p.Insert)
	require.Equal(t, []int64{21, 22}, ids(p.Cancel))
	require.Equal(t, []int64{22}, ids(p.Confirm))
}

func TestDecideFillsTheReservation(t *testing.T) {
	taken := noon.Add(-48 * time.Hour)
	p := Decide(scene(), []Op{
		{SlotID: 1, UserID: "alice"},
		{SlotID: 1, UserID: "bob", Hold: time.Minute, CreatedAt: taken},
	})
	require.Equal(t, []Outcome{
		{Reservation: Reservation{SlotID: 1, UserID: "alice", Status: Confirmed, CreatedAt: noon}},
		{Reservation: Reservation{SlotID: 1, UserID: "bob", Status: Held, CreatedAt: taken, ExpiresAt: noon.Add(time.Minute)}},
	}, p.Outcomes)
}

// A load that went past the guarantee leaves more reserved than capacity: the
// slot refuses, and goes on refusing until enough have left.
func TestDecideOverFull(t *testing.T) {
	sc := scene()
	sc.Slots[2] = Slot{ID: 2, StartsAt: noon.Add(time.Hour), Capacity: 1, Reserved: 2}
	p := Decide(sc, []Op{
		{SlotID: 2, UserID: "dave"},
		{Action: ActCancel, SlotID: 2, UserID: "alice"},
		{SlotID: 2, UserID: "dave"},
		{Action: ActCancel, SlotID: 2, UserID: "bob"},
		{SlotID: 2, UserID: "dave"},
	})
	for i, want := range []error{ErrSlotFull, nil, ErrSlotFull, nil, nil} {
		require.ErrorIs(t, p.Outcomes[i].Err, want, "op %d", i)
	}
}

func TestSlotEditApply(t *testing.T) {
	s := Slot{ID: 1, StartsAt: noon, EndsAt: noon.Add(time.Hour), Capacity: 3, Reserved: 2, Version: 7}
	seven, late := 7, noon.Add(2*time.Hour)
	edited, err := SlotEdit{Capacity: &seven}.Apply(s)
	require.NoError(t, err)
	require.Equal(t, Slot{ID: 1, StartsAt: noon, EndsAt: noon.Add(time.Hour), Capacity: 7, Reserved: 2, Version: 8}, edited)

	edited, err = SlotEdit{EndsAt: &late}.Apply(s)
	require.NoError(t, err)
	require.Equal(t, late, edited.EndsAt)

	for field, e := range map[string]SlotEdit{
		"starts_at": {StartsAt: &s.EndsAt}, // empty is no range
		"ends_at":   {EndsAt: &s.StartsAt},
	} {
		_, err = e.Apply(s)
		var invalid *ValidationError
		require.ErrorAs(t, err, &invalid, field)
		require.Equal(t, field, invalid.Fields[0].Field)
	}
}

// Seen red with: the first failure returned alone.
func TestTogetherNamesEachFailure(t *testing.T) {
	require.NoError(t, Together([]Outcome{{}, {}}))
	err := Together([]Outcome{{}, {Err: ErrSlotFull}, {}, {Err: ErrAlreadyReserved}})
	require.Equal(t, &ManyError{Failures: []Failure{{1, ErrSlotFull}, {3, ErrAlreadyReserved}}}, err)
	require.ErrorIs(t, err, ErrSlotFull)
	require.ErrorIs(t, err, ErrAlreadyReserved)
	require.NotErrorIs(t, err, ErrSlotStarted)
}

// Seen red with: items not held against each other; ranges closed at an end;
// the kind not looked at.
func TestJudgeBookings(t *testing.T) {
	known := map[string]Resource{"room": {Key: "room", Kind: KindPlace}, "drill": {Key: "drill", Kind: KindThing}}
	from := func(key string, a, b int) NewBooking {
		return NewBooking{Resource: key, StartsAt: noon.Add(time.Duration(a) * time.Minute), EndsAt: noon.Add(time.Duration(b) * time.Minute)}
	}
	as := func(kind Kind, b NewBooking) NewBooking {
		b.Kind = kind
		return b
	}
	fine := []NewBooking{
		from("room", 10, 20), from("room", 20, 30), from("room", 0, 10), from("drill", 10, 20),
		as(KindPlace, from("room", 40, 50)), as(KindThing, from("drill", 40, 50)),
	}
	require.NoError(t, JudgeBookings(fine, known, nil))

	err := JudgeBookings([]NewBooking{
		from("room", 0, 10), from("none", 0, 10), as(KindThing, from("room", 20, 30)), from("drill", 0, 10),
		from("room", 9, 11), from("drill", 20, 30),
	}, known, map[int]bool{5: true})
	var many *ManyError
	require.ErrorAs(t, err, &many)
	want := map[int]error{1: ErrResourceNotFound, 4: ErrResourceBusy, 5: ErrResourceBusy}
	require.Len(t, many.Failures, 4)
	for _, f := range many.Failures {
		if f.Index == 2 {
			require.Equal(t, []string{"thing"}, fieldsOf(t, f.Err))
			continue
		}
		require.ErrorIs(t, f.Err, want[f.Index], "item %d", f.Index)
	}
}
