package usage

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Seen red with: merge keeping each record apart; Write using one fixed name.
func TestRecordsOfManyBinariesBecomeOneTable(t *testing.T) {
	dir := t.TempDir() + "/new"
	container := Record{Engine: "postgres", How: "container postgres:17", Server: "17.2"}
	for _, name := range []string{"postgres", "conformance"} {
		one := container
		one.Package, one.Databases = name, 3
		other := Record{Package: name, Engine: "sqlite", How: "a file", Server: "embedded", Databases: 1}
		require.NoError(t, Write(dir, []Record{other, one}))
	}
	require.NoError(t, Write(dir, []Record{{Package: "sqlserver", Engine: "sqlserver", NotRun: "no daemon"}}))

	records, err := Read(dir)
	require.NoError(t, err)
	require.Len(t, records, 5)
	var out bytes.Buffer
	require.NoError(t, Print(&out, WithUnasked(records)))
	assert.Equal(t, ""+
		"ENGINE     HOW                    SERVER    DATABASES  PACKAGES\n"+
		"postgres   container postgres:17  17.2      6          conformance postgres\n"+
		"sqlite     a file                 embedded  2          conformance postgres\n"+
		"sqlserver  NOT RUN: no daemon (asked for by sqlserver)\n", out.String())
}

// Seen red with: WithUnasked returning what it was given.
func TestEngineThatNoTestAskedForIsNamed(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Print(&out, WithUnasked([]Record{{Package: "app", Engine: "sqlite", How: "a file"}})))
	assert.Contains(t, out.String(), "postgres   NOT RUN: no test asked for it\n")
	assert.Equal(t, 4, strings.Count(out.String(), "\n"))
}

// Seen red with: Read returning no records and no error.
func TestEmptyFolderIsAnError(t *testing.T) {
	_, err := Read(t.TempDir())
	assert.ErrorContains(t, err, "no test binary")
}
