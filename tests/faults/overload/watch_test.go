package overload

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // to read the rows
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // to read the rows
)

// watch looks at the program until it is told to stop, and returns the most
// requests that waited and the most memory, in bytes, that the process had
// (0 where the system does not say).
func (s *server) watch() (stop func() (waiting int, memory int64)) {
	var waiting int
	var memory int64
	over := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for tick := time.NewTicker(250 * time.Millisecond); ; {
			waiting = max(waiting, s.gauge("slotkeeper_queue_length"))
			memory = max(memory, s.memory())
			select {
			case <-over:
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	})
	return func() (int, int64) {
		close(over)
		done.Wait()
		return waiting, memory
	}
}

// gauge reads one of the program's metrics, -1 if it is not there.
func (s *server) gauge(name string) int {
	response, err := http.Get(s.URL() + "/metrics")
	if err != nil {
		s.t.Errorf("metrics: %v", err)
		return -1
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), name+" "); found {
			f, err := strconv.ParseFloat(value, 64)
			if err != nil {
				s.t.Errorf("%s: %v", name, err)
			}
			return int(f)
		}
	}
	s.t.Errorf("there is no metric %s", name)
	return -1
}

// memory is what the process has of the machine's, in bytes.
func (s *server) memory() int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		return 0
	}
	return kib << 10
}

// rows are the users that have one, read around the program.
func (s *server) rows() map[int64]bool {
	driver, address := "pgx", s.db
	if path, found := strings.CutPrefix(s.db, "sqlite:"); found {
		driver, address = "sqlite", path
	}
	db, err := sql.Open(driver, address)
	require.NoError(s.t, err)
	defer db.Close()
	rows, err := db.QueryContext(context.Background(), "SELECT user_id FROM reservations WHERE status = 'confirmed'")
	require.NoError(s.t, err)
	defer rows.Close()
	there := map[int64]bool{}
	for rows.Next() {
		var user string
		require.NoError(s.t, rows.Scan(&user))
		number, err := strconv.ParseInt(user, 10, 64)
		require.NoError(s.t, err)
		require.False(s.t, there[number], "user %d is there twice", number)
		there[number] = true
	}
	require.NoError(s.t, rows.Err())
	return there
}
