package hostile

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"slotkeeper/tests/engines"
	"slotkeeper/tests/served"

	"github.com/stretchr/testify/require"
)

// patience bounds how long an honest request may take beside the slow ones. It
// is far above what one takes and far below what a slow one takes.
const patience = 2 * time.Second

// 200 connections that send a byte now and then neither keep anyone from being
// served nor stay: a request's time counts from its first byte, so that a byte
// in time buys no more of it.
// Seen red with: ReadTimeout left out of the server's settings (they stayed).
func TestSlowRequests(t *testing.T) {
	const slow = 200
	on := everywhere
	if !served.Long() { // no engine hears of them
		on = func(t *testing.T, test func(d *desk)) { test(newDesk(t, engines.SQLite(t))) }
	}
	on(t, func(d *desk) {
		d.gauge("go_goroutines")
		goroutines, files := d.gauge("go_goroutines"), d.gauge("process_open_fds")
		rounds := served.Pick(1, 5)
		var slowest time.Duration
		served408, dropped, honest := 0, 0, 0
		for round := range rounds {
			ended := make(chan string, slow)
			for i := range slow {
				go func() { ended <- d.dribble(i) }()
			}
			left := slow
			for left > 0 {
				select {
				case how := <-ended:
					left--
					switch how {
					case late:
						served408++
					case closed: // no request had begun
						dropped++
					default:
						d.Fatalf("a slow request: %s", how)
					}
				case <-time.After(5 * time.Millisecond):
					begun := time.Now()
					d.create(d.slot+"/reservations", fmt.Sprintf(`{"user_id":"honest-%d-%d"}`, round, honest))
					d.get("/readyz")
					slowest = max(slowest, time.Since(begun))
					honest++
				}
			}
		}
		require.Less(d, slowest, patience)
		require.Positive(d, honest)
		d.unharmed()
		d.settles(goroutines, files, slow)
		served.Figures(d.T, "slow: %d connections at once, %d times: %d answered 408 and %d closed within %v; %d honest pairs of requests meanwhile, slowest %v",
			slow, rounds, served408, dropped, readTimeout+patience, honest, slowest.Round(time.Millisecond))
	})
}

// closed is how empty lines end that no request follows.
const closed = "closed without an answer"

// dribble sends a request byte by byte and says how it ended.
func (d *desk) dribble(i int) string {
	raw := []string{
		"GET " + d.slot + " HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X-Slow: y\r\n", 400),
		"POST " + d.slot + "/reservations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n" + strings.Repeat(" ", 5_000),
		"POST " + d.slot + "/reservations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1\r\n \r\n", 1_000),
		strings.Repeat("\r\n", 4_000),
	}[i%4]
	conn, err := net.Dial("tcp", d.server.Address)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	begun := time.Now()
	if err := conn.SetDeadline(begun.Add(readTimeout + 10*time.Second)); err != nil {
		return err.Error()
	}
	stop := make(chan struct{})
	var sending sync.WaitGroup
	defer sending.Wait()
	defer close(stop)
	sending.Go(func() {
		head, rest := raw[:max(0, strings.Index(raw, "\r\n\r\n"))], raw[max(0, strings.Index(raw, "\r\n\r\n")):]
		_, err := io.WriteString(conn, head)
		for n := 0; err == nil && n < len(rest); n++ {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
				_, err = io.WriteString(conn, rest[n:n+1])
			}
		}
	})
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if took := time.Since(begun); took > readTimeout+patience {
		return fmt.Sprintf("answered after %v: %v", took, err)
	}
	if err != nil && i%4 == 3 { // empty lines before a request
		return closed
	}
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusRequestTimeout {
		return res.Status
	}
	return late
}
