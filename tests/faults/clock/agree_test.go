package clock

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slotkeeper/tests/served"
)

// Each process, whichever clock it has, takes a hold for live until the
// database's clock says otherwise, and no longer.
// What turns it red is the next test.
func TestTwoClocks(t *testing.T) {
	binary := shifting(t, nil)
	for name, ahead := range map[string]time.Duration{"ahead": apart, "behind": -apart} {
		for _, args := range served.Pick([][]string{nil}, [][]string{nil, {"--no-combine"}, {"--strategy", "serializable"}}) {
			t.Run(name+strings.Join(args, ""), func(t *testing.T) {
				w := newWorld(t, binary, ahead, args...)
				w.everything()
				for _, s := range w.split {
					t.Error(s)
				}
			})
		}
	}
}

// A program that puts its own clock where the statements have the database's is
// found out, ahead and behind: all that the test above asks can fail.
func TestAProgramThatGoesByItsOwnClock(t *testing.T) {
	binary := shifting(t, func(text string) string {
		return strings.NewReplacer(`import "strings"`, "import (\n\"strings\"\n\"time\"\n)",
			"\treturn sql\n", "\treturn strings.ReplaceAll(sql, `statement_timestamp()`, time.Now().UTC().Format(`'2006-01-02T15:04:05.999999Z'::timestamptz`))\n",
		).Replace(text)
	}, "postgres/queries.go")
	for name, ahead := range map[string]time.Duration{"ahead": apart, "behind": -apart} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, binary, ahead)
			w.everything()
			require.NotEmpty(t, w.split, "nobody noticed")
			t.Logf("the first of %d: %s", len(w.split), w.split[0])
		})
	}
}

// everything asks whatever depends on the time.
func (w *world) everything() {
	w.holds()
	w.starts()
	w.bookings()
	w.sweeps()
	served.Figures(w.t, "clocks %v apart, %d questions, %d answered by the wrong clock", apart, w.asked, len(w.split))
}

// minutes lie on both sides of what either clock takes for now.
func minutes() []int { return []int{-11, -9, -5, -1, 1, 5, 9, 11} }

// slot makes a slot for the year 2096 with one place.
func (w *world) slot() string {
	w.t.Helper()
	made := w.ask(0, http.MethodPost, "/slots", `{"starts_at":"2096-05-02T09:00:00Z","ends_at":"2096-05-02T09:30:00Z","capacity":1}`)
	require.Equal(w.t, http.StatusCreated, made.Status)
	return fmt.Sprintf("/slots/%d", made.ID)
}

// hold has a process hold a slot's place for five minutes.
func (w *world) hold(at int, slot string) {
	w.t.Helper()
	var now time.Time
	require.NoError(w.t, w.db.QueryRow(w.t.Context(), "SELECT now()").Scan(&now))
	r := w.ask(at, http.MethodPost, slot+"/reservations", `{"user_id":"alice","hold_seconds":300}`)
	require.Equal(w.t, http.StatusCreated, r.Status)
	w.asked++
	if d := r.ExpiresAt.Sub(now); d < 5*time.Minute-time.Second || d > 6*time.Minute {
		w.split = append(w.split, fmt.Sprintf("a hold of 5 minutes by process %d ends in %v", at, d))
	}
	if d := r.CreatedAt.Sub(now); d.Abs() > time.Minute {
		w.split = append(w.split, fmt.Sprintf("a hold by process %d was made in %v", at, d))
	}
}

// holds are made by either process, end at all sides of the two clocks, and are
// read, refused, confirmed and given away.
func (w *world) holds() {
	for i, ends := range minutes() {
		for maker := range w.both {
			slot, live := w.slot(), ends > 0
			w.hold(maker, slot)
			w.run("UPDATE reservations SET expires_at = now() + make_interval(mins => $1) WHERE status = 'held' AND '/slots/' || slot_id = $2", ends, slot)
			what := fmt.Sprintf("a hold that ends in %d min", ends)
			status := func(yes, no int) int {
				if live {
					return yes
				}
				return no
			}
			w.agree(what+", reserved", status(1, 0), func(at int) any { return w.ask(at, http.MethodGet, slot, "").Reserved })
			w.agree(what+", read", status(200, 404), func(at int) any { return w.ask(at, http.MethodGet, slot+"/reservations/alice", "").Status })
			w.agree(what+", listed", status(1, 0), func(at int) any { return len(w.ask(at, http.MethodGet, slot+"/reservations", "").Items) })
			if live {
				w.agree(what+", in another's way", "slot-full", func(at int) any {
					return w.ask(at, http.MethodPost, slot+"/reservations", `{"user_id":"bob"}`).Code
				})
			}
			w.agree(what+", confirmed", status(200, 409), func(at int) any {
				return w.ask((at+maker)%2, http.MethodPost, slot+"/reservations/alice/confirm", "").Status
			})
			w.is(what+", given away", status(409, 201), (i+maker)%2, func(at int) any {
				return w.ask(at, http.MethodPost, slot+"/reservations", `{"user_id":"bob"}`).Status
			})
		}
	}
}

// starts are slots that have begun, or have not.
func (w *world) starts() {
	for _, begins := range minutes() {
		slot := w.slot()
		w.run("UPDATE slots SET capacity = 2, starts_at = now() + make_interval(mins => $1) WHERE '/slots/' || id = $2", begins, slot)
		right := ""
		if begins < 0 {
			right = "slot-started"
		}
		w.agree(fmt.Sprintf("a slot that begins in %d min", begins), right, func(at int) any {
			return w.ask(at, http.MethodPost, slot+"/reservations", fmt.Sprintf(`{"user_id":"bob%d"}`, at)).Code
		})
	}
}

// bookings are holds of a resource.
func (w *world) bookings() {
	for _, ends := range minutes() {
		key := fmt.Sprintf("bay%d", ends)
		require.Equal(w.t, http.StatusCreated, w.ask(0, http.MethodPost, "/resources", fmt.Sprintf(`{"key":%q,"name":"bay","kind":"thing"}`, key)).Status)
		book := `{"user_id":"alice","starts_at":"2096-05-02T09:00:00Z","ends_at":"2096-05-02T09:30:00Z","hold_seconds":300}`
		held := w.ask(1, http.MethodPost, "/resources/"+key+"/bookings", book)
		require.Equal(w.t, http.StatusCreated, held.Status)
		w.run("UPDATE bookings SET expires_at = now() + make_interval(mins => $1) WHERE id = $2", ends, held.ID)
		n, status := 0, http.StatusConflict
		if ends > 0 {
			n, status = 1, http.StatusOK
		}
		what := fmt.Sprintf("a booking held for %d min", ends)
		w.agree(what+", listed", n, func(at int) any {
			return len(w.ask(at, http.MethodGet, "/resources/"+key+"/bookings?from=2096-05-01T00:00:00Z&to=2096-05-04T00:00:00Z", "").Items)
		})
		w.agree(what+", confirmed", status, func(at int) any {
			return w.ask(at, http.MethodPost, fmt.Sprintf("/bookings/%d/confirm", held.ID), "").Status
		})
	}
}

// sweeps are made by a third process, with the second one's clock: it frees
// what has expired and nothing else.
func (w *world) sweeps() {
	due, live := w.slot(), w.slot()
	for slot, ends := range map[string]int{due: -1, live: 1} {
		w.hold(0, slot)
		w.run("UPDATE reservations SET expires_at = now() + make_interval(mins => $1) WHERE status = 'held' AND '/slots/' || slot_id = $2", ends, slot)
	}
	_, err := served.Start(w.t, w.binary, w.dsn, "127.0.0.1:0", "--sweep-interval", "50ms") // CLOCK_AHEAD is still set
	require.NoError(w.t, err)
	state := func(slot string) (s string) {
		require.NoError(w.t, w.db.QueryRow(w.t.Context(), "SELECT status FROM reservations WHERE '/slots/' || slot_id = $1", slot).Scan(&s))
		return s
	}
	for end := time.Now().Add(10 * time.Second); state(due) == "held" && state(live) == "held" && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond) // the rows are all that a sweep shows
	}
	w.asked++
	if state(due) != "expired" || state(live) != "held" {
		w.split = append(w.split, fmt.Sprintf("after a sweep: what was due is %s, what was not is %s", state(due), state(live)))
	}
}
