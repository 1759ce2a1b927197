package served

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Altered builds the program with some files, named relative to the module or
// absolutely, read as change makes them, and returns the binary. It is for tests
// that have to see a broken program, or one in another world, and touches no
// file. detect has it look for data races if the tests do. A change that changes
// nothing fails the test.
func Altered(t testing.TB, detect bool, change func(text string) string, files ...string) string {
	t.Helper()
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	require.NoError(t, err)
	dir := t.TempDir()
	replace := map[string]string{}
	for i, file := range files {
		if !filepath.IsAbs(file) {
			file = filepath.Join(strings.TrimSpace(string(root)), file)
		}
		before, err := os.ReadFile(file)
		require.NoError(t, err)
		after := change(string(before))
		require.NotEqual(t, string(before), after, "%s is as it was", file)
		replace[file] = filepath.Join(dir, fmt.Sprintf("%d-%s", i, filepath.Base(file)))
		require.NoError(t, os.WriteFile(replace[file], []byte(after), 0o600))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	list := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(list, overlay, 0o600))
	args := []string{"-overlay", list}
	if detect && raceEnabled {
		args = append(args, "-race")
	}
	return build(t, "slotkeeper", args...)
}

// Plain builds a program, named by its import path, without the race detector,
// for tests that measure.
func Plain(t testing.TB, program string) string {
	t.Helper()
	return build(t, program)
}

func build(t testing.TB, program string, args ...string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "program")
	text, err := exec.Command("go", slices.Concat([]string{"build", "-o", binary}, args, []string{program})...).CombinedOutput()
	require.NoError(t, err, "build: %s", text)
	return binary
}
