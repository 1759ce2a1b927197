package program

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A wrong configuration is refused at the start, with a sentence that says what
// to do and exit code 2. finish looks for the secret in each output.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	nobody := freeAddress(t)
	letter := filepath.Join(dir, "letter.txt")
	require.NoError(t, os.WriteFile(letter, []byte("Dear clinic, this is no database but a letter.\n"), 0o600))
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"unknown scheme":   {[]string{"serve", "--db", "mysql://root:" + secret + "@h/d"}, `the database has the unknown scheme "mysql": use sqlite:PATH`},
		"no scheme":        {[]string{"serve", "--db", "anna password=" + secret}, "the database has no scheme: use sqlite:PATH"},
		"no directory":     {[]string{"serve", "--db", "sqlite:" + dir + "/no/a.db"}, "the directory " + dir + "/no of the database does not exist: create it"},
		"a directory":      {[]string{"serve", "--db", "sqlite:" + dir}, dir + " is a directory: name a file in it"},
		"not a database":   {[]string{"serve", "--db", "sqlite:" + letter}, letter},
		"strategy":         {[]string{"serve", "--strategy", "serializable"}, "--strategy is for postgres alone: leave it out with sqlite"},
		"unknown strategy": {[]string{"serve", "--db", "postgres://" + nobody + "/d", "--strategy", "hope"}, `--strategy is "hope": use for-update or serializable`},
		"pool":             {[]string{"serve", "--pool-size", "-3"}, "the pool size -3 is too small: use at least 2"},
		"pool of words":    {[]string{"serve", "--pool-size", "many"}, "--pool-size"},
		"read timeout":     {[]string{"serve", "--read-timeout", "-5s"}, "--read-timeout is -5s: use a duration above 0"},
		"write timeout":    {[]string{"serve", "--write-timeout", "0s"}, "--write-timeout is 0s: use a duration above 0"},
		"call timeout":     {[]string{"serve", "--call-timeout", "-1ms"}, "--call-timeout is -1ms: use a duration above 0"},
		"shutdown timeout": {[]string{"serve", "--shutdown-timeout", "-1s"}, "--shutdown-timeout is -1s: use a duration above 0"},
		"drain delay":      {[]string{"serve", "--drain-delay", "20s"}, "--drain-delay 20s leaves nothing of --shutdown-timeout 15s"},
		"sweep interval":   {[]string{"serve", "--sweep-interval", "-1s"}, "--sweep-interval is -1s: use a duration such as 1m, or 0 to switch it off"},
		"check interval":   {[]string{"serve", "--check-interval", "-1s"}, "--check-interval is -1s: use a duration such as 1m, or 0 to switch it off"},
		"body limit":       {[]string{"serve", "--body-limit", "-1"}, "--body-limit is -1: use a number of bytes above 0"},
		"listen":           {[]string{"serve", "--listen", "8080"}, `--listen is "8080": use host:port, such as 127.0.0.1:8080`},
		"listen elsewhere": {[]string{"serve", "--listen", "192.0.2.1:8080"}, "cannot listen on 192.0.2.1:8080"},
		"public url":       {[]string{"serve", "--public-url", "slots.example.org"}, `--public-url is "slots.example.org": use an address such as https://`},
		"its password":     {[]string{"serve", "--public-url", "https://u:" + secret + "@h"}, "--public-url is \"https://u:xxxxx@h\""},
		"log level":        {[]string{"serve", "--log-level", "loud"}, `--log-level is "loud": use debug, info, warn or error`},
		"log format":       {[]string{"serve", "--log-format", "xml"}, `--log-format is "xml": use text or json`},
		"pending":          {[]string{"serve", "--no-migrate"}, "sqlite:slotkeeper.db lacks migrations: run slotkeeper migrate up"},
		"check pending":    {[]string{"check"}, "sqlite:slotkeeper.db lacks migrations: run slotkeeper migrate up"},
		"postgres away":    {[]string{"serve", "--db", "postgres://anna:" + secret + "@" + nobody + "/clinic"}, "cannot reach postgres://anna:xxxxx@" + nobody + "/clinic; start it or correct --db"},
		"postgres in keys": {[]string{"check", "--db", "postgres://" + nobody + "/clinic?user=anna&password=" + secret}, "cannot reach postgres://" + nobody + "/clinic?user=anna&password=xxxxx; start"},
		"postgres spoiled": {[]string{"migrate", "up", "--db", "postgres://anna:" + secret + "%zz@" + nobody + "/clinic"}, "postgres://anna:xxxxx@" + nobody},
		"odd password":     {[]string{"migrate", "status", "--db", "postgres://anna:" + secret + "/#?@" + nobody + "/clinic"}, "postgres://anna:xxxxx@" + nobody},
		"server away":      {[]string{"serve", "--db", "sqlserver://sa:" + secret + "@" + nobody + "?database=clinic"}, "cannot reach sqlserver://sa:xxxxx@" + nobody + "?database=clinic; start it or correct --db"},
		"wrong place":      {[]string{"serve", "postgres://anna:" + secret + "@h/d"}, "unexpected argument postgres://anna:xxxxx@h/d"},
		"wrong flag":       {[]string{"serve", "--database=postgres://anna:" + secret + "@h/d"}, "unknown flag --database"},
		"wrong type":       {[]string{"serve", "--pool-size=postgres://anna:" + secret + "@h/d"}, "--pool-size"},
		"nothing to do":    {[]string{"import"}, "nothing to import: name a file with --slots"},
		"only asked":       {[]string{"import", "--reservations", letter}, "--reservations needs --slots"},
		"format":           {[]string{"import", "--slots", letter, "--format", "hl7"}, `--format is "hl7": use csv or smart`},
		"no file":          {[]string{"import", "--slots", dir + "/no.csv"}, "no.csv: no such file"},
		"file is a folder": {[]string{"import", "--slots", dir}, dir + " is a directory: name a file"},
		"no command":       {nil, "expected one of"},
		"down without yes": {[]string{"migrate", "down"}, "add --yes if you mean it"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, c.args...)
			assert.Equal(t, 2, r.code)
			assert.Contains(t, r.stderr, "slotkeeper: ")
			assert.Contains(t, r.stderr, c.want)
			assert.Empty(t, r.stdout)
		})
	}
}

// freeAddress returns an address where nobody listens any more.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// Every flag is an environment variable, and secrets in it are kept as well.
func TestEnvironment(t *testing.T) {
	r := finish(t, command(t, []string{"SLOTKEEPER_POOL_SIZE=-3"}, "serve"))
	assert.Equal(t, 2, r.code)
	assert.Contains(t, r.stderr, "the pool size -3 is too small")
	r = finish(t, command(t, []string{"SLOTKEEPER_DB=mysql://anna:" + secret + "@h/d"}, "serve"))
	assert.Equal(t, 2, r.code)
	assert.Contains(t, r.stderr, `unknown scheme "mysql"`)
	r = finish(t, command(t, []string{"SLOTKEEPER_BODY_LIMIT=postgres://anna:" + secret + "@h/d"}, "serve"))
	assert.Equal(t, 2, r.code)
	r = finish(t, command(t, []string{"SLOTKEEPER_DB=postgres://anna:" + secret + "@h/d"}, "serve", "--help"))
	assert.Equal(t, 0, r.code)
	assert.Contains(t, r.stdout, "$SLOTKEEPER_DB")
	assert.Contains(t, r.stdout, "$SLOTKEEPER_SWEEP_INTERVAL")
	r = finish(t, command(t, []string{"SLOTKEEPER_COMBINE=false", "SLOTKEEPER_MIGRATE=false"}, "serve"))
	assert.Contains(t, r.stderr, "lacks migrations")
}

func TestVersion(t *testing.T) {
	r := run(t, "version")
	assert.Equal(t, 0, r.code)
	assert.Regexp(t, `^slotkeeper v0\.0\.0-test( commit [0-9a-f]+( with changes)?)? go1\.\d+.*\n$`, r.stdout)
}
