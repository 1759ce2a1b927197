package engines

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slotkeeper/tests/cluster"
)

// fakeKind has one way for each answer: nil gives a server named for its place.
func fakeKind(stopped *int, answers ...error) (kind, *[]string) {
	asked := &[]string{}
	k := kind{
		name:   postgresName,
		create: func(context.Context, string, string) error { return nil },
		drop:   func(context.Context, string, string) error { return nil },
		in:     func(dsn, database string) string { return dsn + "/" + database },
	}
	for i, answer := range answers {
		how := string(rune('A' + i))
		k.ways = append(k.ways, way{advice: "have " + how, get: func(context.Context) (*server, error) {
			*asked = append(*asked, how)
			if answer != nil {
				return nil, answer
			}
			return &server{dsn: "fake://" + how, how: how, stop: func() { *stopped++ }}, nil
		}})
	}
	return k, asked
}

// Seen red with: search ranging over the ways backwards.
func TestFirstWayThatGivesAServerWins(t *testing.T) {
	no := errors.New("no")
	for _, test := range []struct {
		answers []error
		how     string
		asked   string
	}{
		{[]error{nil, nil, nil}, "A", "A"},
		{[]error{no, nil, nil}, "B", "AB"},
		{[]error{no, no, nil}, "C", "ABC"},
	} {
		k, asked := fakeKind(new(int), test.answers...)
		found, err := k.search(t.Context())
		require.NoError(t, err)
		assert.Equal(t, test.how, found.how)
		assert.Equal(t, test.asked, strings.Join(*asked, ""))
	}
}

// Seen red with: find not keeping its attempt; end without its Once.
func TestOneServerForAllTests(t *testing.T) {
	stopped := 0
	s := begun(t, environmentOf(nil))
	k, asked := fakeKind(&stopped, nil)
	s.kinds[postgresName] = k

	var first, second string
	attempted(t, func(tb testing.TB) { first = s.database(tb, postgresName) })
	attempted(t, func(tb testing.TB) { second = s.database(tb, postgresName) })
	assert.Len(t, *asked, 1)
	assert.True(t, strings.HasPrefix(first, "fake://A/slotkeeper_test_"), first)
	assert.NotEqual(t, first, second)
	assert.Equal(t, 2, s.records()[0].Databases)

	s.end()
	s.end()
	assert.Equal(t, 1, stopped)
	late := attempted(t, func(tb testing.TB) { s.database(tb, postgresName) })
	assert.Contains(t, late.failed, "being ended")
}

// Seen red with: the container's way standing first in postgresKind.
func TestSkipNamesEveryWayInTheirOrder(t *testing.T) {
	s := begun(t, environmentOf(nil))
	fake := attempted(t, func(tb testing.TB) { s.database(tb, postgresName) })
	assert.Empty(t, fake.failed)
	inOrder(t, fake.skipped,
		"set SLOTKEEPER_TEST_POSTGRES=postgres://", "not set",
		"Docker daemon that has or can pull postgres:17", "SLOTKEEPER_TEST_POSTGRES_IMAGE", "no Docker daemon answers",
		"install the server programs of Postgres", "no initdb and postgres")

	fake = attempted(t, func(tb testing.TB) { s.database(tb, sqlserverName) })
	assert.Empty(t, fake.failed)
	inOrder(t, fake.skipped,
		"set SLOTKEEPER_TEST_SQLSERVER=sqlserver://", "not set",
		"mcr.microsoft.com/mssql/server:2022-latest", "SLOTKEEPER_TEST_SQLSERVER_IMAGE", "no Docker daemon answers")
}

// Seen red with: the comparison with noImage taken out of start.
func TestContainersCanBeTurnedOff(t *testing.T) {
	s := begun(t, environmentOf(map[string]string{postgresImageVariable: "none"}))
	fake := attempted(t, func(tb testing.TB) { s.database(tb, postgresName) })
	assert.Contains(t, fake.skipped, "turned off by SLOTKEEPER_TEST_POSTGRES_IMAGE=none")
}

func inOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		require.True(t, found, "%q is missing, or too early, in:\n%s", part, text)
		rest = after
	}
}

// Seen red with: serverFor skipping before it looks at what is required.
func TestRequiredEngineFails(t *testing.T) {
	s := begun(t, environmentOf(map[string]string{requireVariable: "sqlite, postgres"}))
	fake := attempted(t, func(tb testing.TB) { s.database(tb, postgresName) })
	assert.Empty(t, fake.skipped)
	assert.Contains(t, fake.failed, "SLOTKEEPER_TEST_REQUIRE lists postgres")
	assert.Contains(t, fake.failed, "SLOTKEEPER_TEST_POSTGRES=")

	fake = attempted(t, func(tb testing.TB) { s.database(tb, sqlserverName) })
	assert.Empty(t, fake.failed, "sqlserver is not required")
	assert.NotEmpty(t, fake.skipped)
}

// Seen red with: required not looking names up.
func TestUnknownRequiredEngineEndsTheRun(t *testing.T) {
	s := newSession(environmentOf(map[string]string{requireVariable: "postgre"}))
	ran := false
	code := s.run(func() int { ran = true; return 0 })
	assert.Equal(t, 2, code)
	assert.False(t, ran)
}

// Seen red with: open returning nil before the beginning.
func TestWithoutMainNothingIsStarted(t *testing.T) {
	s := newSession(environmentOf(nil))
	fake := attempted(t, func(tb testing.TB) { s.database(tb, postgresName) })
	assert.Contains(t, fake.failed, "engines.Main(m)")
	fake = attempted(t, s.countFile)
	assert.Contains(t, fake.failed, "engines.Main(m)")
}

// A DSN was meant: tests that ran on another server instead would mislead.
// Seen red with: the test for errUnusable taken out of search (it skipped);
// url.Parse's error put into the message (it shows the password).
func TestUnusableDSNFails(t *testing.T) {
	address, err := cluster.FreeAddress()
	require.NoError(t, err)
	for engine, dsns := range map[string][]string{
		postgresName: {
			"postgres://ann:secret@" + address + "/postgres",
			"host=127.0.0.1 password=secret",
			"sqlserver://ann:secret@" + address,
			"postgres://ann:secret@127.0.0.1:no port",
		},
		sqlserverName: {
			"sqlserver://ann:secret@" + address + "?dial+timeout=1",
			"server=127.0.0.1;password=secret",
		},
	} {
		variable := map[string]string{postgresName: postgresVariable, sqlserverName: sqlserverVariable}[engine]
		for _, dsn := range dsns {
			s := begun(t, environmentOf(map[string]string{variable: dsn}))
			fake := attempted(t, func(tb testing.TB) { s.database(tb, engine) })
			assert.Empty(t, fake.skipped, dsn)
			assert.Contains(t, fake.failed, variable, dsn)
			assert.NotContains(t, fake.failed, "secret", dsn)
		}
	}
}

// Seen red with: errEndedEarly's case taken out of waitForLogin.
func TestWaitingEndsWithTheServer(t *testing.T) {
	k := kind{probe: func(context.Context, string) (string, error) { return "", errors.New("not yet") }}
	ended := make(chan struct{})
	close(ended)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := waitForLogin(ctx, k, "", ended)
	assert.ErrorIs(t, err, errEndedEarly)

	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = waitForLogin(short, k, "", make(chan struct{}))
	assert.ErrorContains(t, err, "not yet")
}

// Seen red with: the path, or the query, kept as it was.
func TestDSNOfADatabase(t *testing.T) {
	assert.Equal(t, "postgres://a:b@h:1/new?connect_timeout=20&sslmode=disable", inPostgres("postgres://a:b@h:1/old?sslmode=disable", "new"))
	assert.Equal(t, "sqlserver://a:b@h:1/inst?database=new&encrypt=disable",
		inSQLServer("sqlserver://a:b@h:1/inst?encrypt=disable&database=old", "new"))
	assert.Equal(t, "sqlserver://a:b@h:1?database=new", inSQLServer("sqlserver://a:b@h:1", "new"))
}
