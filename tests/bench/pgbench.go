//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
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

// pgbench returns the best rate that pgbench reaches over this many slots,
// over both scripts and several numbers of clients.
func (b *bench) pgbench(ctx context.Context, c *cluster, slots int) (best load, clients int, err error) {
	for name, script := range pgbenchScripts {
		for _, n := range []int{8, 16, 32, 64} {
			rate, err := b.pgbenchOnce(ctx, c, fmt.Sprintf(script, slots), n)
			if err != nil {
				return best, 0, err
			}
			l := load{took: time.Second, waits: make([]time.Duration, int(rate))}
			for i := range l.waits { // pgbench prints the mean alone
				l.waits[i] = time.Duration(float64(n) / rate * float64(time.Second))
			}
			b.measured(fmt.Sprintf("reserve over %d slots", slots), "pgbench, "+name, n, l)
			if len(l.waits) > len(best.waits) {
				best, clients = l, n
			}
		}
	}
	return best, clients, nil
}

func (b *bench) pgbenchOnce(ctx context.Context, c *cluster, script string, clients int) (float64, error) {
	file := filepath.Join(filepath.Dir(c.dir), "book.pgbench")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		return 0, err
	}
	out, err := c.command(ctx, "pgbench", "-n", "-h", "127.0.0.1", "-p", c.port, "-U", "postgres", "-M", "prepared",
		"-f", file, "-c", strconv.Itoa(clients), "-j", "2", "-T", strconv.Itoa(max(1, int(b.span.Seconds()))), "lean").CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("pgbench: %w: %s", err, out)
	}
	m := tpsLine.FindSubmatch(out)
	if m == nil { // so short a run that its clients had only just connected
		return 0, nil
	}
	return strconv.ParseFloat(string(m[1]), 64)
}
