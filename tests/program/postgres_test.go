package program

import (
	"net/url"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slotkeeper/tests/engines"
)

// The same program over Postgres, by both strategies.
func TestPostgres(t *testing.T) {
	for _, strategy := range []string{"for-update", "serializable"} {
		t.Run(strategy, func(t *testing.T) {
			db := engines.Postgres(t)
			args := []string{"import", "--db", db, "--strategy", strategy,
				"--slots", data(t, "slots.csv"), "--reservations", data(t, "requests.csv"), "--json"}
			r := run(t, args...)
			require.Equal(t, 0, r.code, r.stderr)
			assert.Equal(t, map[string]int{"reserved": 12, "slot-full": 12, "already-reserved": 2, "slot-not-found": 1},
				summaryOf(t, r.stdout).Reservations.Codes)
			r = run(t, args...)
			require.Equal(t, 0, r.code, r.stderr)
			assert.Equal(t, map[string]int{"slot-full": 12, "already-reserved": 14, "slot-not-found": 1},
				summaryOf(t, r.stdout).Reservations.Codes)
			assert.Equal(t, 0, run(t, "check", "--db", db).code)
			s := serve(t, db, "--strategy", strategy, "--pool-size", "4")
			assert.Equal(t, "slot-full", s.post("/slots/1/reservations", `{"user_id":"zoe"}`).code())
			s.signal(syscall.SIGTERM)
			assert.Equal(t, 0, s.exitCode())
		})
	}
}

// What a running server refuses is told without the password. Seen red with
// the DSN printed as it is and the filter over stderr left out.
func TestPostgresSecrets(t *testing.T) {
	u, err := url.Parse(engines.Postgres(t))
	require.NoError(t, err)
	u.User = url.UserPassword("no_such_person", secret)
	for _, command := range [][]string{{"serve"}, {"migrate", "up"}, {"migrate", "status"}, {"check"}, {"import", "--slots", data(t, "slots.csv")}} {
		r := run(t, append(command, "--db", u.String())...) // looks for the secret
		assert.Equal(t, 2, r.code)
		assert.Contains(t, r.stderr, "cannot reach postgres://no_such_person:xxxxx@"+u.Host)
	}
}
