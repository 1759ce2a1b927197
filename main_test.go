package main

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"slotkeeper/adapters"
)

func TestDescribe(t *testing.T) {
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: "abc123"}, {Key: "vcs.modified", Value: modified}}
	}
	for want, c := range map[string]struct {
		linker string
		info   *debug.BuildInfo
	}{
		"(devel)":                               {"", nil},
		"v1.2.3":                                {"v1.2.3", nil},
		"v1.2.3 go1.26":                         {"v1.2.3", &debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: "v0.9.0"}}},
		"v0.9.0 commit abc123":                  {"", &debug.BuildInfo{Main: debug.Module{Version: "v0.9.0"}, Settings: vcs("false")}},
		"(devel) commit abc123 with changes go": {"", &debug.BuildInfo{GoVersion: "go", Settings: vcs("true")}},
	} {
		assert.Equal(t, want, describe(c.linker, c.info))
	}
}

// Whoever writes, and wherever the secret came from. Seen red with env left out.
func TestFiltered(t *testing.T) {
	args := []string{"serve", "--db=postgres://a:from-flag@h/d", "--db", "postgres://a:from-arg@h/d", "postgres://a:misplaced@h/d"}
	env := []string{"SLOTKEEPER_DB=postgres://a:from-env@h/d", "HOME=postgres://a:ordinary@h/d"}
	var out strings.Builder
	f := filtered{&out, adapters.NewScrubber(mayHoldSecrets(args, env)...)}
	text := "from-flag from-arg misplaced from-env ordinary"
	n, err := f.Write([]byte(text))
	assert.NoError(t, err)
	assert.Equal(t, len(text), n)
	assert.Equal(t, "xxxxx xxxxx xxxxx xxxxx ordinary", out.String())
}

func TestAsFlags(t *testing.T) {
	err := asFlags((&guardCmd{Overlap: true}).spec().Validate())
	assert.EqualError(t, err, "--bookings must be named; --slot-column must be named; --slots must be named; "+
		"--slots-key must be named; --start-column must be named; --end-column must be named")
}
