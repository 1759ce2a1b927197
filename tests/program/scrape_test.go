package program

import (
	"bufio"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sample is one line of /metrics.
type sample struct {
	name   string
	labels map[string]string
	value  float64
}

// scraped is a page of /metrics.
type scraped []sample

var (
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	labelPair  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
)

// scrape reads /metrics, every line of it.
func (s *server) scrape() scraped {
	s.t.Helper()
	a := s.get("/metrics")
	require.Equal(s.t, 200, a.status)
	var page scraped
	for lines := bufio.NewScanner(strings.NewReader(a.body)); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		m := sampleLine.FindStringSubmatch(lines.Text())
		require.NotNil(s.t, m, lines.Text())
		value, err := strconv.ParseFloat(m[3], 64)
		require.NoError(s.t, err)
		one := sample{m[1], map[string]string{}, value}
		for _, pair := range labelPair.FindAllStringSubmatch(m[2], -1) {
			one.labels[pair[1]] = pair[2]
		}
		page = append(page, one)
	}
	return page
}

// value is that of the one sample of name whose labels have the values given
// in pairs; NaN where there is none.
func (page scraped) value(name string, labels ...string) float64 {
	i := slices.IndexFunc(page, func(one sample) bool {
		for i := 0; i < len(labels); i += 2 {
			if one.labels[labels[i]] != labels[i+1] {
				return false
			}
		}
		return one.name == name
	})
	if i < 0 {
		return math.NaN()
	}
	return page[i].value
}

// outcome and retries are the two that tests ask for most.
func (page scraped) outcome(name string) float64 {
	return page.value("slotkeeper_reservations_total", "outcome", name)
}

func (page scraped) retries(reason string) float64 {
	return page.value("slotkeeper_tx_retries_total", "reason", reason)
}

// until scrapes until reached.
func (s *server) until(what string, reached func(scraped) bool) scraped {
	s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		page := s.scrape()
		if reached(page) {
			return page
		}
		require.True(s.t, time.Now().Before(end), "not in time: %s", what)
	}
}

// later asks in the background; the answer comes when it is there.
func (s *server) later(method, path, body string) <-chan answer {
	answers := make(chan answer, 1)
	go func() {
		a, err := s.try(method, path, body)
		if err != nil {
			a.body = err.Error()
		}
		answers <- a
	}()
	return answers
}

// slot publishes one and returns its path.
func (s *server) slot(body string) string {
	s.t.Helper()
	a := s.post("/slots", body)
	require.Equal(s.t, 201, a.status, a.body)
	return a.header.Get("Location")
}

func requireStatus(t *testing.T, want int, answers ...<-chan answer) {
	t.Helper()
	for _, c := range answers {
		a := <-c
		require.Equal(t, want, a.status, a.body)
	}
}
