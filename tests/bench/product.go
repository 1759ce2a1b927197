//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"slotkeeper/tests/cluster"
)

// buildProduct builds the program from the module's root.
func buildProduct(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "slotkeeper")
	out, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, "slotkeeper").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return binary, nil
}

// product is the program serving on loopback.
type product struct {
	addr   string
	binary string
	db     string
	cmd    *exec.Cmd
	log    bytes.Buffer
}

// startProduct serves the database as the program comes, with its defaults;
// only its log is kept to what went wrong.
func startProduct(ctx context.Context, binary, db string, flags ...string) (*product, error) {
	address, err := cluster.FreeAddress()
	if err != nil {
		return nil, err
	}
	p := &product{addr: address, binary: binary, db: db}
	p.cmd = exec.CommandContext(context.WithoutCancel(ctx), binary,
		append([]string{"serve", "--db", db, "--listen", p.addr, "--log-level", "error"}, flags...)...)
	p.cmd.Stderr = &p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	err = until(ctx, func() error {
		status, err := call(p.addr, without("GET", "/readyz"))
		if err == nil && status != 200 {
			err = fmt.Errorf("/readyz answers %d", status)
		}
		return err
	})
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%w: %s", err, &p.log)
	}
	return p, nil
}

func (p *product) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
}

// resident returns the program's resident memory in bytes.
func (p *product) resident() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(b)
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// check runs the program's own recount; nothing may be broken.
func (p *product) check(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, p.binary, "check", "--db", p.db).CombinedOutput()
	if err != nil {
		return fmt.Errorf("check: %w: %s", err, out)
	}
	return nil
}

// publish creates n slots of this capacity, far in the future, and returns the
// first id; the others follow it, since nobody else creates any.
func (p *product) publish(n, capacity int) (first int, err error) {
	at := time.Date(2050, 1, 1, 8, 0, 0, 0, time.UTC)
	body := fmt.Sprintf(`{"starts_at":%q,"ends_at":%q,"capacity":%d}`, at.Format(time.RFC3339), at.Add(time.Hour).Format(time.RFC3339), capacity)
	for i := range n {
		_, answer, err := fetch(p.addr, post("/slots", body))
		if err != nil {
			return 0, err
		}
		var slot struct{ ID int }
		if err := json.Unmarshal(answer, &slot); err != nil || slot.ID == 0 {
			return 0, fmt.Errorf("no slot was created: %s", answer)
		}
		if i == 0 {
			first = slot.ID
		}
	}
	return first, nil
}
