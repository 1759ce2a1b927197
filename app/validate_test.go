package app

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Seen red with: NFC left out, runes counted as bytes, IsControl left out,
// only the first end looked at for white space.
func TestNormalizeText(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		ok             bool
	}{
		{"plain", "alice", "alice", true},
		{"case is kept", "ALICE", "ALICE", true},
		{"composed stays", "j\u00fcrgen", "j\u00fcrgen", true},
		{"decomposed is composed", "ju\u0308rgen", "j\u00fcrgen", true},
		{"a compatibility form is another text", "\ufb01n", "\ufb01n", true},
		{"Arabic", "محمد", "محمد", true},
		{"white space inside", "a b", "a b", true},
		{"punctuation", `x/y%20'"\;--`, `x/y%20'"\;--`, true},
		{"128 characters of four bytes", strings.Repeat("😀", 128), strings.Repeat("😀", 128), true},
		{"256 code points that compose to 128", strings.Repeat("u\u0308", 128), strings.Repeat("\u00fc", 128), true},
		{"129 characters", strings.Repeat("a", 129), "", false},
		{"128 that decompose to more", strings.Repeat("\u0958", 128), "", false}, // NFC splits this one
		{"empty", "", "", false},
		{"NUL", "a\x00b", "", false},
		{"tab", "a\tb", "", false},
		{"delete", "a\x7f", "", false},
		{"C1 control", "a\u0085b", "", false},
		{"space at the start", " alice", "", false},
		{"space at the end", "alice ", "", false},
		{"no-break space at the end", "alice\u00a0", "", false},
		{"ideographic space at the start", "\u3000alice", "", false},
		{"only a space", " ", "", false},
		{"not UTF-8", "a\xff", "", false},
		{"half a surrogate pair", "\xed\xa0\x80", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, problem := normalizeText(c.in)
			require.Equal(t, c.ok, problem == "", problem)
			if c.ok {
				require.Equal(t, c.want, got)
			}
		})
	}
}

func fieldsOf(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var invalid *ValidationError
	require.ErrorAs(t, err, &invalid)
	names := make([]string, len(invalid.Fields))
	for i, f := range invalid.Fields {
		require.NotEmpty(t, f.Detail)
		names[i] = f.Field
	}
	return names
}

// Seen red with: the first bad field returned alone, `<` for `<=` at each bound.
func TestNewSlotNormalize(t *testing.T) {
	end := noon.Add(time.Hour)
	for _, c := range []struct {
		name string
		in   NewSlot
		bad  []string
	}{
		{"least", NewSlot{StartsAt: noon, EndsAt: noon.Add(time.Microsecond), Capacity: 1}, nil},
		{"most", NewSlot{StartsAt: noon, EndsAt: end, Capacity: MaxCapacity, Resource: "r", Ref: "x"}, nil},
		{"no capacity", NewSlot{StartsAt: noon, EndsAt: end}, []string{"capacity"}},
		{"too much capacity", NewSlot{StartsAt: noon, EndsAt: end, Capacity: MaxCapacity + 1}, []string{"capacity"}},
		{"empty range", NewSlot{StartsAt: noon, EndsAt: noon, Capacity: 1}, []string{"ends_at"}},
		{"empty once cut to the microsecond", NewSlot{StartsAt: noon, EndsAt: noon.Add(999), Capacity: 1}, []string{"ends_at"}},
		{"years", NewSlot{StartsAt: noon.AddDate(-200, 0, 0), EndsAt: noon.AddDate(8000, 0, 0), Capacity: 1}, []string{"starts_at", "ends_at"}},
		{"all at once", NewSlot{Resource: " r", Ref: "x\n", Capacity: -1, StartsAt: end, EndsAt: noon},
			[]string{"resource", "ref", "capacity", "ends_at"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.in.normalize()
			require.Equal(t, c.bad, fieldsOf(t, err))
		})
	}
	got, err := NewSlot{
		StartsAt: noon.In(time.FixedZone("", 2*3600)).Add(1999 * time.Nanosecond), EndsAt: end, Capacity: 1, Resource: "u\u0308",
	}.normalize()
	require.NoError(t, err)
	require.Equal(t, NewSlot{StartsAt: noon.Add(time.Microsecond), EndsAt: end, Capacity: 1, Resource: "\u00fc"}, got)
}

func TestHoldIsWholeSeconds(t *testing.T) {
	for d, ok := range map[time.Duration]bool{
		0: true, time.Second: true, MaxHold: true,
		-time.Second: false, time.Millisecond: false, 1500 * time.Millisecond: false, MaxHold + time.Second: false,
	} {
		_, err := NewReservation{UserID: "a", Hold: d}.normalize()
		require.Equal(t, ok, err == nil, d)
		_, err = NewBooking{Resource: "r", UserID: "a", StartsAt: noon, EndsAt: noon.Add(1e9), Hold: d}.normalize()
		require.Equal(t, ok, err == nil, d)
	}
}

func TestSlotEditNormalize(t *testing.T) {
	none, early := 0, noon.Add(-time.Hour)
	_, err := SlotEdit{Capacity: &none, StartsAt: &noon, EndsAt: &early}.normalize()
	require.Equal(t, []string{"capacity", "ends_at"}, fieldsOf(t, err))
	_, err = SlotEdit{EndsAt: &early}.normalize()
	require.NoError(t, err, "one end alone is judged by the store, which knows the other")
	zoned := noon.In(time.FixedZone("", -7*3600))
	e, err := SlotEdit{StartsAt: &zoned}.normalize()
	require.NoError(t, err)
	require.Equal(t, noon, *e.StartsAt)
	require.NotEqual(t, time.UTC, zoned.Location(), "the caller's value is left alone")
}

func TestNormalizeAll(t *testing.T) {
	_, err := normalizeAll(nil)
	require.Equal(t, []string{"slot_ids"}, fieldsOf(t, err))
	_, err = normalizeAll([]NewReservation{{SlotID: 1, UserID: " "}, {SlotID: 2, UserID: " "}, {SlotID: 1, UserID: " "}})
	require.Equal(t, []string{"user_id", "slot_ids/2"}, fieldsOf(t, err), "what is the same in each is said once")
	many := make([]NewReservation, MaxTogether+1)
	for i := range many {
		many[i] = NewReservation{SlotID: int64(i + 1), UserID: "alice"}
	}
	_, err = normalizeAll(many)
	require.Equal(t, []string{"slot_ids"}, fieldsOf(t, err))
	_, err = normalizeAll(many[:MaxTogether])
	require.NoError(t, err)
}

func TestResourceAndFreeQueryNormalize(t *testing.T) {
	r, err := Resource{Key: "mri-1", Kind: KindThing}.normalize()
	require.NoError(t, err)
	require.Equal(t, "mri-1", r.Name)
	_, err = Resource{Key: "", Name: "\t", Kind: "room"}.normalize()
	require.Equal(t, []string{"key", "name", "kind"}, fieldsOf(t, err))

	_, err = FreeQuery{From: noon, To: noon, Minimum: time.Second}.normalize()
	require.Equal(t, []string{"to", "minutes"}, fieldsOf(t, err))
	_, err = FreeQuery{From: noon, To: noon.Add(maxFreeSpan), Minimum: time.Minute}.normalize()
	require.NoError(t, err)
	_, err = FreeQuery{From: noon, To: noon.Add(maxFreeSpan + time.Second), Minimum: time.Minute}.normalize()
	require.Equal(t, []string{"to"}, fieldsOf(t, err))
	_, err = FreeQuery{From: noon, To: noon.AddDate(7000, 0, 0), Minimum: time.Minute}.normalize()
	require.Equal(t, []string{"to"}, fieldsOf(t, err), "a span beyond what a Duration holds")
}
