// Package hostile sends the built program what no honest client sends, over
// plain TCP, and holds it to its answers, its log, its data and its means.
package hostile

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"slotkeeper/tests/engines"
	"slotkeeper/tests/served"

	"github.com/stretchr/testify/require"
)

var binary string

func TestMain(m *testing.M) { served.Main(m, func(b string) { binary = b }) }

// readTimeout is the program's; what never ends is answered after it.
const readTimeout = 3 * time.Second

// desk is a running program with some data that must come to no harm.
type desk struct {
	*testing.T
	server  *served.Server
	dsn     string
	client  *http.Client
	slot    string // path of the slot that hostile requests are about
	canary  string // path of the slot that none of them names rightly
	before  map[string]string
	made    atomic.Int64 // slots that hostile requests made
	answers atomic.Int64
}

func everywhere(t *testing.T, test func(d *desk)) {
	for name, database := range map[string]func(testing.TB) string{
		"sqlite": engines.SQLite, "postgres": engines.Postgres,
	} {
		t.Run(name, func(t *testing.T) { test(newDesk(t, database(t))) })
	}
}

func newDesk(t *testing.T, dsn string) *desk {
	server, err := served.Start(t, binary, dsn, "127.0.0.1:0", "--read-timeout", readTimeout.String())
	require.NoError(t, err)
	transport := &http.Transport{MaxIdleConns: 1}
	t.Cleanup(transport.CloseIdleConnections)
	d := &desk{T: t, server: server, dsn: dsn, client: &http.Client{Transport: transport, Timeout: 10 * time.Second}}
	const range1 = `"starts_at":"2098-06-01T09:00:00Z","ends_at":"2098-06-01T09:30:00Z"`
	d.canary = d.create("/slots", `{`+range1+`,"capacity":3,"resource":"canary"}`)
	d.create(d.canary+"/reservations", `{"user_id":"alice"}`)
	d.slot = d.create("/slots", `{`+range1+`,"capacity":1000000}`)
	require.Equal(t, []string{"/slots/1", "/slots/2"}, []string{d.canary, d.slot}, "the table has their paths")
	d.create("/resources", `{"key":"room","kind":"place"}`)
	d.create("/resources", `{"key":"mri","kind":"thing"}`)
	d.before = d.canaryState()
	return d
}

// create makes something and returns where it is.
func (d *desk) create(target, body string) string {
	d.Helper()
	res, err := d.client.Post(d.server.URL()+target, "application/json", strings.NewReader(body))
	require.NoError(d, err)
	defer res.Body.Close()
	said, _ := io.ReadAll(res.Body)
	require.Equal(d, 201, res.StatusCode, "%s", said)
	return res.Header.Get("Location")
}

func (d *desk) get(target string) string {
	d.Helper()
	res, err := d.client.Get(d.server.URL() + target)
	require.NoError(d, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(d, err)
	require.Equal(d, 200, res.StatusCode, "%s: %s", target, body)
	return string(body)
}

func (d *desk) canaryState() map[string]string {
	state := map[string]string{}
	for _, path := range []string{d.canary, d.canary + "/reservations", "/resources/canary"} {
		state[path] = d.get(path)
	}
	return state
}

// slots counts them, page by page.
func (d *desk) slots() (n int) {
	cursor := ""
	for {
		var page struct {
			Items []any  `json:"items"`
			Next  string `json:"next_cursor"`
		}
		require.NoError(d, json.Unmarshal([]byte(d.get("/slots?limit=500"+cursor)), &page))
		if n += len(page.Items); page.Next == "" {
			return n
		}
		cursor = "&cursor=" + page.Next
	}
}

// gauge is one value of /metrics.
func (d *desk) gauge(name string) int {
	m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(d.get("/metrics"))
	require.NotNil(d, m, name)
	x, err := strconv.ParseFloat(m[1], 64)
	require.NoError(d, err)
	return int(x)
}

// unharmed requires that the data is as it was, the program serves, failed in
// nothing, and its log is its own.
func (d *desk) unharmed() {
	d.Helper()
	require.Equal(d, d.before, d.canaryState())
	require.Equal(d, 2+int(d.made.Load()), d.slots(), "slots")
	d.get("/readyz")
	require.NotRegexp(d, `slotkeeper_http_requests_total\{[^}]*status="5`, d.get("/metrics"))
	user := fmt.Sprintf("after-%d", time.Now().UnixNano())
	d.create(d.slot+"/reservations", `{"user_id":"`+user+`"}`)
	check := exec.Command(binary, "check", "--db", d.dsn)
	check.Dir = d.TempDir()
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "SLOTKEEPER_") {
			check.Env = append(check.Env, pair)
		}
	}
	said, err := check.CombinedOutput()
	require.NoError(d, err, "%s", said)
	d.ownLog()
}

// ownLog requires one JSON object a line, of what the program says itself.
func (d *desk) ownLog() {
	d.Helper()
	lines := bufio.NewScanner(strings.NewReader(d.server.Log()))
	lines.Buffer(nil, 1<<20)
	requests := 0
	for lines.Scan() {
		var entry struct{ Level, Msg, Route string }
		require.NoError(d, json.Unmarshal(lines.Bytes(), &entry), lines.Text())
		require.Equal(d, "INFO", entry.Level, lines.Text())
		require.Contains(d, []string{"request", "serving", "migrated"}, entry.Msg, lines.Text())
		require.NotContains(d, lines.Text(), "\x1b", "an escape that a terminal obeys")
		if entry.Msg == "request" {
			requests++
		}
	}
	require.NoError(d, lines.Err())
	require.GreaterOrEqual(d, requests, int(d.answers.Load()))
}

// settles requires that connections come back to what they were at once, and
// goroutines after the half minute for which fasthttp keeps the idle ones; the
// short form takes those for what they are.
func (d *desk) settles(goroutines, files, crowd int) {
	d.Helper()
	begun := time.Now()
	within := served.Pick(5*time.Second, 40*time.Second)
	const pool = 16 // connections to the database that were not open before
	most := goroutines + pool + served.Pick(crowd, 0)
	var g, f int
	for g, f = d.means(); g > most || f > files+pool; g, f = d.means() {
		if time.Since(begun) > within {
			d.Fatalf("goroutines %d before and %d after, open files %d and %d", goroutines, g, files, f)
		}
		time.Sleep(100 * time.Millisecond) // nothing tells of their end
	}
	served.Figures(d.T, "goroutines %d before and %d %v after, open files %d and %d", goroutines, g, time.Since(begun).Round(time.Millisecond), files, f)
}

func (d *desk) means() (goroutines, files int) {
	return d.gauge("go_goroutines"), d.gauge("process_open_fds")
}
