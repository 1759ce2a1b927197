package outage

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slotkeeper/tests/engines"
	"slotkeeper/tests/served"
)

// TestSQLite takes from an SQLite file what it needs. Reading goes on in each
// case, so /readyz says yes.
func TestSQLite(t *testing.T) {
	for name, test := range map[string]func(*testing.T, bool){
		"the disk is full":           theDiskIsFull,
		"the file takes no writes":   theFileTakesNoWrites,
		"another program has it":     anotherProgramHasTheFile,
		"it is read-only from start": theFileIsReadOnly,
	} {
		for _, combine := range served.Pick([]bool{true}, []bool{true, false}) {
			t.Run(name+" "+combineFlag(combine), func(t *testing.T) {
				if !served.Long() {
					t.Parallel()
				}
				test(t, combine)
			})
		}
	}
}

func liteSite(t *testing.T, db string, combine bool) *site {
	t.Helper()
	s := newSite(t, db, db, combine)
	s.load.pause = thinking
	s.load.begin()
	s.load.more(t, 50, "201", "204")
	return s
}

// A small disk, on which the log's 32 MiB go, is filled by another file; where
// none can be mounted, which needs root, the file may not grow instead.
// Seen red with: SQLITE_FULL and SQLITE_IOERR taken out of sqlite.meaningOf (500).
func theDiskIsFull(t *testing.T, combine bool) {
	folder := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64m", "slotkeeper-test", folder).CombinedOutput(); err != nil {
		t.Logf("a small disk needs root and mount: %s; the size of files is bounded instead", strings.TrimSpace(string(out)))
		filesMayNotGrow(t, engines.SQLite(t), combine, "full")
		return
	}
	t.Cleanup(func() {
		out, err := exec.Command("umount", folder).CombinedOutput()
		assert.NoError(t, err, "%s", out)
	})
	db := filepath.Join(folder, "slotkeeper.db")
	s := liteSite(t, "sqlite:"+db, combine)
	filler := filepath.Join(folder, "filler")
	rounds := served.Pick(1, 10)
	var slowest time.Duration
	for range rounds {
		fill(t, filler)
		s.load.more(t, clients, away)
		s.watch(served.Pick(300*time.Millisecond, 3*time.Second), true)
		s.load.more(t, 10, "200") // reading goes on
		require.NoError(t, os.Remove(filler))
		slowest = max(slowest, s.returned(time.Now()))
		s.load.more(t, 50, "201", "204")
	}
	s.settle("%d times the disk was full, back within %v", rounds, slowest)
	s.server.Kill() // it has the disk open
}

// fill writes until nothing more goes in.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	for size := 64 << 10; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			require.ErrorIs(t, err, syscall.ENOSPC)
			size /= 2
		}
	}
}

// Every write of the process to a file fails from here on, as on a disk that
// the system has turned read-only.
// Seen red with: SQLITE_FULL and SQLITE_IOERR taken out of sqlite.meaningOf (500).
func theFileTakesNoWrites(t *testing.T, combine bool) {
	filesMayNotGrow(t, engines.SQLite(t), combine, "unwritable")
}

func filesMayNotGrow(t *testing.T, db string, combine bool, what string) {
	if _, err := exec.LookPath("prlimit"); err != nil {
		t.Skip("NOT RUN: install util-linux, whose prlimit takes writing away from a process")
	}
	s := liteSite(t, db, combine)
	limit := func(bytes string) {
		out, err := exec.Command("prlimit", "--pid", strconv.Itoa(s.server.PID), "--fsize="+bytes+":").CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	rounds := served.Pick(1, 10)
	var slowest time.Duration
	for range rounds {
		limit("0")
		s.load.more(t, clients, away)
		s.watch(served.Pick(300*time.Millisecond, 3*time.Second), true)
		s.load.more(t, 10, "200")
		limit("unlimited")
		slowest = max(slowest, s.returned(time.Now()))
		s.load.more(t, 50, "201", "204")
	}
	s.settle("%d times the file was %s, back within %v", rounds, what, slowest)
}

// Another process writes for longer than anybody waits.
// Seen red with: SQLITE_BUSY taken out of sqlite.meaningOf (500, and answers
// after half a minute).
func anotherProgramHasTheFile(t *testing.T, combine bool) {
	db := engines.SQLite(t)
	s := liteSite(t, db, combine)
	held := served.Pick(2*callTimeout(), time.Minute)
	other := open(t, db)
	conn, err := other.Conn(short(t))
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.ExecContext(short(t), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	s.watch(held, true)
	s.load.more(t, clients, "503 busy")
	s.load.more(t, 10, "200")
	_, err = conn.ExecContext(short(t), "ROLLBACK")
	require.NoError(t, err)
	took := s.returned(time.Now())
	s.load.more(t, 50, "201", "204")
	require.Zero(t, s.load.seen(away))
	s.settle("locked for %v by another program, back within %v", held, took)
}

// A file that the process may only read: it refuses to start, or it answers
// what it can and says 503 to the rest; with the permission back, all is well.
func theFileIsReadOnly(t *testing.T, combine bool) {
	db := engines.SQLite(t)
	s := liteSite(t, db, combine)
	s.load.end()
	require.Zero(t, s.server.Stop(), "%s", s.server.Log())
	path := strings.TrimPrefix(db, "sqlite:")
	writable := readOnly(t, path)
	server, err := served.Start(t, binary, db, s.server.Address, s.args...)
	came := "refused to start"
	if err == nil {
		came = "started"
		s.server = server
		answer, _, _, _ := s.load.ask("POST", s.slots[1], "nobody")
		require.Equal(t, away, answer)
		answer, _, _, _ = s.load.ask("GET", s.slots[1], "")
		require.Equal(t, "200", answer)
		s.server.Kill()
	} else {
		require.NotContains(t, err.Error(), "panic")
		require.NotContains(t, err.Error(), "goroutine ")
	}
	writable()
	s.start(s.server.Address)
	s.settle("1 read-only file: the program %s", came)
	if err != nil {
		t.Logf("it said: %s", err)
	}
}

// readOnly takes writing to a file away: by its permissions, or from root,
// whom those do not bind, by mounting its folder so.
func readOnly(t *testing.T, path string) (writable func()) {
	t.Helper()
	folder := filepath.Dir(path)
	if os.Geteuid() != 0 {
		require.NoError(t, os.Chmod(path, 0o444))
		require.NoError(t, os.Chmod(folder, 0o555))
		return func() {
			require.NoError(t, errors.Join(os.Chmod(folder, 0o755), os.Chmod(path, 0o644)))
		}
	}
	for _, args := range [][]string{{"--bind", folder, folder}, {"-o", "remount,bind,ro", folder}} {
		if out, err := exec.Command("mount", args...).CombinedOutput(); err != nil {
			t.Skipf("NOT RUN: root may not mount a folder read-only here: %s", out)
		}
	}
	undone := false
	writable = func() {
		if !undone {
			undone = true
			out, err := exec.Command("umount", folder).CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
	}
	t.Cleanup(writable)
	return writable
}
