package program

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

var capacityGuard = []string{"guard", "--bookings", "dbo.Appointments", "--slot-column", "SessionId",
	"--status-column", "Status", "--live", "Booked,CheckedIn", "--slots", "dbo.Sessions", "--slots-key", "Id", "--capacity-column", "Places"}

func TestGuardPrints(t *testing.T) {
	r := run(t, capacityGuard...)
	assert.Equal(t, 0, r.code, r.stderr)
	assert.Contains(t, r.stderr, "the tables were not looked at: add --db")
	assert.Contains(t, r.stdout, "CREATE TRIGGER [dbo].[slotkeeper_capacity_Appointments] ON [dbo].[Appointments]")
	assert.Contains(t, r.stdout, "CREATE TRIGGER [dbo].[slotkeeper_slots_Sessions] ON [dbo].[Sessions]")
	assert.Contains(t, r.stdout, "[Status] IN ('Booked', 'CheckedIn')")

	r = run(t, "guard", "--overlap", "--bookings", "Stays", "--slot-column", "Room", "--slots", "Rooms", "--slots-key", "No",
		"--start-column", "Arrives", "--end-column", "Leaves")
	assert.Equal(t, 0, r.code, r.stderr)
	assert.Contains(t, r.stdout, "[slotkeeper_overlap_Stays]")
}

func TestGuardRefused(t *testing.T) {
	nobody := freeAddress(t)
	for name, c := range map[string]struct {
		more []string
		want string
	}{
		"install where":  {[]string{"--install"}, "--db is missing: name the older program's database with sqlserver://"},
		"another engine": {[]string{"--verify", "--db", "sqlite:x.db"}, "guard is for sqlserver and postgres, and --db is sqlite"},
		"not there":      {[]string{"--remove", "--db", "sqlserver://sa:" + secret + "@" + nobody}, "cannot reach sqlserver://sa:xxxxx@" + nobody},
		"both":           {[]string{"--install", "--remove"}, "--install and --remove can't be used together"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, append(capacityGuard, c.more...)...)
			assert.NotZero(t, r.code)
			assert.Contains(t, r.stderr, c.want)
			assert.Empty(t, r.stdout)
		})
	}
	r := run(t, "guard", "--bookings", "b")
	assert.Equal(t, 2, r.code)
	for _, flag := range strings.Fields("--slot-column --slots --slots-key --capacity-column") {
		assert.Contains(t, r.stderr, flag+" must be named")
	}
}
