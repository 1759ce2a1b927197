package program

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert/yaml"
	"github.com/stretchr/testify/require"
)

// used serves a database and does a bit of everything, also what no label may
// take over: names of people, paths that are none, methods that are none.
func used(t *testing.T) scraped {
	t.Helper()
	s := serve(t, newDB(t), "--check-interval", "50ms")
	slot := s.slot(fmt.Sprintf(future, 2))
	require.Equal(t, 201, s.post(slot+"/reservations", `{"user_id":"secret-ada"}`).status)
	require.Equal(t, 409, s.post(slot+"/reservations", `{"user_id":"secret-ada"}`).status)
	require.Equal(t, 404, s.post("/slots/77777/reservations", `{"user_id":"secret-bo"}`).status)
	require.Equal(t, 404, s.get(slot+"/reservations/secret-cy").status)
	require.Equal(t, 404, s.get("/secret-path").status)
	require.Equal(t, 200, s.get("/readyz").status)
	require.Equal(t, 405, s.ask("SECRET", "/slots", "").status)
	return s.until("the slots were counted", func(page scraped) bool { return page.value("slotkeeper_check_timestamp_seconds") > 0 })
}

// closed has every label that may be served and what its values look like:
// each from a list that the program has, never from a request.
var closed = map[string]*regexp.Regexp{
	"outcome": regexp.MustCompile(`^(reserved|held|confirmed|cancelled|slot-full|already-reserved|slot-started|slot-not-found|` +
		`reservation-not-found|hold-expired|unsupported|unavailable|busy|invalid|client-gone|failed)$`),
	"reason": regexp.MustCompile(`^(serialization|deadlock|lock-timeout|locked|connection|unknown-outcome|other)$`),
	"code":   regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`), // the problems: all are there from the start
	"route":  regexp.MustCompile(`^(/|(/([a-z.]+|\{[a-z_]+\}))+|\((none|unread)\))$`),
	"method": regexp.MustCompile(`^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|CONNECT|TRACE)$`),
	"status": regexp.MustCompile(`^[1-5]\d\d$`),
	"le":     regexp.MustCompile(`^([0-9.e+-]+|\+Inf)$`),
	// Of the Go collector.
	"quantile": regexp.MustCompile(`^[0-9.]+$`),
	"version":  regexp.MustCompile(`^go`),
}

// Labels and their values are from closed lists, whatever is asked.
func TestMetricsHaveClosedLabels(t *testing.T) {
	page := used(t)
	for _, one := range page {
		for label, value := range one.labels {
			require.Contains(t, closed, label, one.name)
			require.Regexp(t, closed[label], value, "%s of %s", label, one.name)
			require.NotContains(t, strings.ToLower(value), "secret", one.name)
			require.NotContains(t, value, "7777", one.name)
		}
	}
	// A rate needs the zero before the first one.
	for _, label := range []string{"outcome", "reason"} {
		values := strings.Split(strings.Trim(closed[label].String(), "^()$"), "|")
		for _, value := range values {
			has := slices.ContainsFunc(page, func(one sample) bool { return one.labels[label] == value })
			require.True(t, has, "%s=%q is served from the start", label, value)
		}
	}
}

// expressions are the queries of the two files, by where they stand.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	text, err := os.ReadFile("../../docs/operating/alerts.yaml")
	require.NoError(t, err)
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &rules))
	guide, err := os.ReadFile("../../docs/operating/README.md")
	require.NoError(t, err)
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			require.NotEmpty(t, rule.Alert)
			require.NotEmpty(t, rule.Expr, rule.Alert)
			require.Contains(t, string(guide), "\n### "+rule.Alert+"\n", "the guide says what to do")
			require.True(t, strings.HasSuffix(rule.Annotations["runbook"], "#"+strings.ToLower(rule.Alert)), rule.Alert)
			found[rule.Alert] = rule.Expr
		}
	}
	require.NotEmpty(t, found)

	text, err = os.ReadFile("../../docs/operating/dashboard.json")
	require.NoError(t, err)
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct {
				Expr       string
				Datasource struct{ UID string }
			}
		}
		Templating struct {
			List []struct{ Name, Type, Definition string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &board))
	for _, panel := range board.Panels {
		require.NotEmpty(t, panel.Targets, panel.Title)
		for i, target := range panel.Targets {
			require.Equal(t, "${datasource}", target.Datasource.UID, panel.Title)
			found[fmt.Sprintf("%s, %d", panel.Title, i)] = target.Expr
		}
	}
	require.Equal(t, "datasource", board.Templating.List[0].Type)
	for _, v := range board.Templating.List[1:] {
		found["variable "+v.Name] = v.Definition
	}
	return found
}

var (
	metricName = regexp.MustCompile(`\b(?:slotkeeper|go|process)_\w+`)
	matcher    = regexp.MustCompile(`(\w+)(=~|!~|!=|=)"([^"]*)"`)
	grouping   = regexp.MustCompile(`\b(?:by|on|group_left) ?\(([^)]*)\)`)
)

// given are the labels that Prometheus adds to what it scrapes.
var given = []string{"job", "instance"}

// What is watched is there, under that name and with those labels. Seen red
// with: a metric misspelt in the dashboard, an outcome in an alert.
func TestWhatIsWatchedIsServed(t *testing.T) {
	page := used(t)
	watched := map[string]bool{}
	for where, expr := range expressions(t) {
		names := metricName.FindAllString(expr, -1)
		if !strings.Contains(expr, "up{") {
			require.NotEmpty(t, names, "%s: %s", where, expr)
		}
		for _, name := range names {
			watched[name] = true
			require.False(t, math.IsNaN(page.value(name)), "%s: %s is not served", where, name)
		}
		for _, m := range matcher.FindAllStringSubmatch(expr, -1) {
			requireLabel(t, page, where, m[1], m[2], m[3])
		}
		for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
			for _, label := range strings.Fields(strings.ReplaceAll(m[1], ",", " ")) {
				requireLabel(t, page, where, label, "", "")
			}
		}
	}
	for _, one := range page { // and all that is ours is looked at somewhere
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(one.name, "_count"), "_sum"), "_bucket")
		if strings.HasPrefix(one.name, "slotkeeper_") {
			require.True(t, watched[one.name] || watched[base+"_bucket"], "%s is on no panel", one.name)
		}
	}
}

// requireLabel sees that a label exists and, of outcome, reason and code, whose
// values are all there from the start, that each value that is named does.
func requireLabel(t *testing.T, page scraped, where, label, op, value string) {
	t.Helper()
	if slices.Contains(given, label) {
		return
	}
	require.Contains(t, closed, label, where)
	if op == "" || !slices.Contains([]string{"outcome", "reason", "code"}, label) {
		return
	}
	for _, one := range strings.Split(value, "|") {
		has := slices.ContainsFunc(page, func(s sample) bool { return s.labels[label] == one })
		require.True(t, has, "%s: no %s=%q is served", where, label, one)
	}
}
