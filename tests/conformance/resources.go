package conformance

import (
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

func (s suite) resources(t *testing.T) {
	s.check(t, "a key is given once", resourceOnce)
	s.check(t, "listed by key, page by page", resourcesPaged)
	s.check(t, "keys are ordered byte by byte", keysByBytes)
	s.check(t, "keys beyond 16 bits are ordered byte by byte", keysBeyondBMP)
	s.check(t, "unusual keys come back as they went in", unusualKeys)
}

func resource(t *testing.T, db app.Store, key string, kind app.Kind) app.Resource {
	t.Helper()
	r, err := db.CreateResource(t.Context(), app.Resource{Key: key, Name: "The " + key, Kind: kind})
	ok(t, err)
	return r
}

// Seen red with: a second resource overwriting the first; keys compared without
// case.
func resourceOnce(t *testing.T, db app.Store) {
	r := resource(t, db, "mri-1", app.KindThing)
	require.Positive(t, r.ID)
	require.Equal(t, app.Resource{ID: r.ID, Key: "mri-1", Name: "The mri-1", Kind: app.KindThing}, r)
	create(t, db, span("room", 0, 20, 1))
	for _, key := range []string{"mri-1", "room"} { // made by hand, or with a slot
		for _, kind := range []app.Kind{app.KindThing, app.KindPlace} {
			_, err := db.CreateResource(t.Context(), app.Resource{Key: key, Name: "other", Kind: kind})
			is(t, app.ErrResourceExists, err)
		}
	}
	got, err := db.Resource(t.Context(), "mri-1")
	ok(t, err)
	require.Equal(t, r, got)
	for _, key := range []string{"MRI-1", "mri-", "mri-11", "mr%", ""} {
		_, err := db.Resource(t.Context(), key)
		is(t, app.ErrResourceNotFound, err)
	}
	require.NotEqual(t, r.ID, resource(t, db, "MRI-1", app.KindPlace).ID)
}

// Seen red with: >= for > at the cursor; order by id.
func resourcesPaged(t *testing.T, db app.Store) {
	page := func(after string, limit int) []app.Resource {
		rs, err := db.Resources(t.Context(), after, limit)
		ok(t, err)
		return rs
	}
	require.Empty(t, page("", 10))
	byKey := map[string]app.Resource{}
	for _, key := range []string{"c", "a", "e", "b", "d"} {
		byKey[key] = resource(t, db, key, app.KindPlace)
	}
	all := []app.Resource{byKey["a"], byKey["b"], byKey["c"], byKey["d"], byKey["e"]}
	require.Equal(t, all, page("", 10))
	require.Equal(t, all[:2], page("", 2))
	require.Equal(t, all[2:4], page("b", 2))
	require.Equal(t, all[2:], page("bb", 10), "behind a key that is none")
	require.Empty(t, page("e", 2))
}

func requireKeysInOrder(t *testing.T, db app.Store, keys []string) {
	t.Helper()
	for i := len(keys) - 1; i >= 0; i-- {
		resource(t, db, keys[i], app.KindThing)
	}
	sort.Strings(keys) // Go compares strings byte by byte
	after := ""
	for _, key := range keys {
		rs, err := db.Resources(t.Context(), after, 1)
		ok(t, err)
		require.Len(t, rs, 1, "behind %q", after)
		require.Equal(t, key, rs[0].Key, "behind %q", after)
		after = key
	}
}

// Seen red with: an order without case.
func keysByBytes(t *testing.T, db app.Store) {
	requireKeysInOrder(t, db, []string{
		"A", "B", "Z", "_", "a", "a-b", "a b", "ab", "aB", "a\u0301", "b", "z", "\u00e1", "\u00e4", "\u00df", "ss", "10", "9", "-1", "\u3042", "\u0627",
	})
}

// In UTF-16 code units, which some servers compare, a surrogate comes before
// U+FF21; in UTF-8 it is the other way round. Seen red with: an order by UTF-16
// code units.
func keysBeyondBMP(t *testing.T, db app.Store) {
	requireKeysInOrder(t, db, []string{"\U0001f600", "\uff21", "\ue000", "\ufffd", "\U00010000", "z"})
}
