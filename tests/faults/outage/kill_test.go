package outage

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"slotkeeper/tests/engines"
	"slotkeeper/tests/served"
)

// The process is killed again and again, at moments that the answers decide,
// and started again on its port; the clients never stop. What they had no
// answer to may be written or not.
// Seen red with: app.Service.Cancel answering before it has written (who was
// told 204 has a row).
func TestTheProcessIsKilled(t *testing.T) {
	for name, database := range map[string]func(testing.TB) string{"sqlite": engines.SQLite, "postgres": engines.Postgres} {
		for _, combine := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s %s", name, combineFlag(combine)), func(t *testing.T) {
				theProcessIsKilled(t, database(t), combine)
			})
		}
	}
}

func theProcessIsKilled(t *testing.T, db string, combine bool) {
	s := newSite(t, db, db, combine)
	s.load.dies, s.load.pause = true, 5*time.Millisecond
	s.load.begin()
	rounds := served.Pick(3, 20)
	for range rounds {
		s.load.more(t, rand.N(served.Pick(100, 300)), "201", "204")
		s.server.Kill()
		s.failures()
		s.start(s.server.Address)
	}
	s.load.more(t, 30, "201", "204")
	s.settle("%d kills (SIGKILL), %s", rounds, combineFlag(combine))
}
