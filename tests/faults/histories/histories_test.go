package histories

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"slotkeeper/tests/engines"
	"slotkeeper/tests/served"
)

// built is the program under test. It is set once, before the first test.
var built string

func TestMain(m *testing.M) { served.Main(m, func(binary string) { built = binary }) }

// decideWithin bounds one slot's checking; what is not decided by then fails.
const decideWithin = 30 * time.Second

// setup is one way to run the two processes.
type setup struct {
	name   string
	engine func(testing.TB) string
	args   []string
}

func setups() []setup {
	return []setup{
		{"postgres/for-update/combined", engines.Postgres, nil},
		{"postgres/for-update/one by one", engines.Postgres, []string{"--no-combine"}},
		{"postgres/serializable/combined", engines.Postgres, []string{"--strategy", "serializable"}},
		{"postgres/serializable/one by one", engines.Postgres, []string{"--strategy", "serializable", "--no-combine"}},
		{"sqlite/combined", engines.SQLite, nil},
		{"sqlite/one by one", engines.SQLite, []string{"--no-combine"}},
	}
}

// Two processes on one database answer as one slot would that does one thing
// at a time, with requests whose clients leave, holds that run out and edits.
func TestHistories(t *testing.T) {
	t.Parallel()
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel() // each is idle for most of its time
			db := s.engine(t)
			servers := two(t, built, db, s.args)
			found := verdicts{}
			for n := range served.Pick(1, 12) {
				seed := uint64(time.Now().UnixNano())
				c := newCrowd(t, servers...)
				c.play(seed)
				for _, bad := range c.judge(found) {
					t.Errorf("history %d, seed %d: %s", n, seed, bad)
				}
				if t.Failed() {
					return
				}
				require.NotZero(t, c.counts["reserve: ok"], "nothing was reserved")
				require.NotZero(t, c.counts["reserve: slot-full"], "no slot was ever full")
			}
			require.Zero(t, found[porcupine.Unknown], "a history was too long to be decided")
			text, err := exec.Command(built, "check", "--db", db).CombinedOutput()
			require.NoError(t, err, "%s", text)
		})
	}
}

func two(t *testing.T, binary, db string, args []string) []string {
	var urls []string
	for range 2 {
		s, err := served.Start(t, binary, db, "127.0.0.1:0", append([]string{"--sweep-interval", "700ms"}, args...)...)
		require.NoError(t, err)
		t.Cleanup(func() { complaints(t, s) })
		urls = append(urls, s.URL())
	}
	return urls
}

// complaints shows what a process logged of its own faults, where the test failed.
func complaints(t *testing.T, s *served.Server) {
	for line := range strings.Lines(s.Log()) {
		if t.Failed() && (strings.Contains(line, `"level":"ERROR"`) || strings.Contains(line, `"level":"WARN"`)) {
			t.Log(line)
		}
	}
}

// verdicts counts slots by what the checker said of their history.
type verdicts map[porcupine.CheckResult]int

// judge asks the checker about each slot and returns the histories that no
// slot can have, as text.
func (c *crowd) judge(found verdicts) (bad []string) {
	begun, ops := time.Now(), 0
	for _, r := range c.slots {
		verdict := porcupine.CheckOperationsTimeout(model(r.capacity), r.ops, decideWithin)
		found[verdict]++
		ops += len(r.ops)
		if verdict == porcupine.Illegal {
			bad = append(bad, r.String())
		}
	}
	var counts []string
	for what, n := range c.counts {
		counts = append(counts, fmt.Sprintf("%s %d", what, n))
	}
	slices.Sort(counts)
	served.Figures(c.t, "%d requests to %d slots by %d clients through %d processes, judged in %v: %v; %s",
		ops, len(c.slots), clients, len(c.servers), time.Since(begun).Round(time.Millisecond), found, strings.Join(counts, ", "))
	return bad
}

// String is the history as a person can read it, by the times of sending.
func (r *record) String() string {
	ops := slices.Concat(r.ops, r.busy)
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var text strings.Builder
	fmt.Fprintf(&text, "slot %d of capacity %d:\n", r.id, r.capacity)
	for _, op := range ops {
		fmt.Fprintf(&text, "%12v %12v  %d: %s\n", time.Duration(op.Call), time.Duration(op.Return), op.ClientId, describe(op.Input, op.Output))
	}
	return text.String()
}
