//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// leanSchema is the least that keeps the promise: a counter under a CHECK and
// a key, no triggers. It flatters those that the product is measured against.
var leanSchema = []string{
	`CREATE TABLE slots (id int PRIMARY KEY, capacity int NOT NULL, reserved int NOT NULL DEFAULT 0,
	    CHECK (reserved BETWEEN 0 AND capacity)) WITH (fillfactor = 50)`,
	`CREATE TABLE reservations (slot_id int NOT NULL REFERENCES slots (id), user_id text NOT NULL,
	    created_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (slot_id, user_id))`,
	`INSERT INTO slots SELECT n, 1000000, 0 FROM generate_series(1, 1000) n`,
	`INSERT INTO slots VALUES (1001, 1, 1)`,
	`CREATE FUNCTION book(slot int, who text) RETURNS boolean LANGUAGE plpgsql AS $$
	DECLARE free boolean;
	BEGIN
	    SELECT reserved < capacity INTO free FROM slots WHERE id = slot FOR NO KEY UPDATE;
	    IF NOT free THEN RETURN false; END IF;
	    INSERT INTO reservations (slot_id, user_id) VALUES (slot, who);
	    UPDATE slots SET reserved = reserved + 1 WHERE id = slot;
	    RETURN true;
	END $$`,
}

// leanFull is a slot of leanSchema without a place.
const leanFull = 1001

// The two ways in which a program books with one transaction a booking.
var pgbenchScripts = map[string]string{
	"one function call": `\set slot random(1, %d)
\set who random(1, 1000000000000)
SELECT book(:slot, :who::bigint || ' ' || clock_timestamp());
`,
	"four statements": `\set slot random(1, %d)
\set who random(1, 1000000000000)
BEGIN;
SELECT reserved < capacity FROM slots WHERE id = :slot FOR NO KEY UPDATE;
INSERT INTO reservations (slot_id, user_id) VALUES (:slot, :who::bigint || ' ' || clock_timestamp());
UPDATE slots SET reserved = reserved + 1 WHERE id = :slot;
COMMIT;
`,
}

var tpsLine = regexp.MustCompile(`tps = ([0-9.]+)`)

// pgbenchRun is a script and a number of clients.
type pgbenchRun struct {
	name, script string
	clients      int
}

// pgbench measures both scripts over this many slots with several numbers of
// clients, and returns the run that had the best rate.
func (b *bench) pgbench(ctx context.Context, c *postgres, slots int) (best pgbenchRun, err error) {
	highest := 0.0
	for name, script := range pgbenchScripts {
		for _, n := range []int{4, 8, 16, 32, 64, crowd} {
			run := pgbenchRun{name, fmt.Sprintf(script, slots), n}
			l, err := b.pgbenchOnce(ctx, c, run, b.span)
			if err != nil {
				return best, err
			}
			b.measured(fmt.Sprintf("reserve over %d slots", slots), "pgbench, "+name, n, l)
			if n == crowd {
				b.crowded[slots] = max(b.crowded[slots], l.rate())
			}
			if l.rate() > highest {
				best, highest = run, l.rate()
			}
		}
	}
	return best, nil
}

// pgbenchOnce runs pgbench for a while; the waits are from its log.
func (b *bench) pgbenchOnce(ctx context.Context, c *postgres, run pgbenchRun, span time.Duration) (load, error) {
	dir, err := os.MkdirTemp("", "slotkeeper-pgbench-")
	if err != nil {
		return load{}, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777); err != nil { // pgbench is another user, where we are root
		return load{}, err
	}
	file := filepath.Join(dir, "book.sql")
	if err := os.WriteFile(file, []byte(run.script), 0o644); err != nil {
		return load{}, err
	}
	out, err := c.Command(ctx, "pgbench", "-n", "-M", "prepared",
		"-f", file, "-c", strconv.Itoa(run.clients), "-j", "2", "-T", strconv.Itoa(max(1, int(span.Seconds()))),
		"-l", "--log-prefix="+filepath.Join(dir, "log"), "lean").CombinedOutput()
	if err != nil {
		return load{}, fmt.Errorf("pgbench: %w: %s", err, out)
	}
	l, err := pgbenchLog(dir)
	if err != nil {
		return load{}, err
	}
	if m := tpsLine.FindSubmatch(out); m != nil { // none: so short a run that its clients had only just connected
		rate, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			return load{}, err
		}
		l.took = time.Duration(float64(len(l.waits)) / rate * float64(time.Second))
	}
	return l, nil
}

// pgbenchLog reads a line a transaction, its third number the wait in
// microseconds.
func pgbenchLog(dir string) (l load, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "log.*"))
	if err != nil {
		return l, err
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return l, err
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) < 3 {
				continue
			}
			us, err := strconv.ParseInt(fields[2], 10, 64)
			if err != nil {
				return l, fmt.Errorf("pgbench's log: %w", err)
			}
			l.waits = append(l.waits, time.Duration(us)*time.Microsecond)
		}
	}
	slices.Sort(l.waits)
	l.took = time.Second
	return l, nil
}
