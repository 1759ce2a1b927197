// Package engines gets a real database for a test.
//
// A server is looked for in this order, and shared by the tests of one binary:
//
//  1. a DSN in SLOTKEEPER_TEST_POSTGRES or SLOTKEEPER_TEST_SQLSERVER,
//  2. a container of SLOTKEEPER_TEST_POSTGRES_IMAGE (default postgres:17) or
//     SLOTKEEPER_TEST_SQLSERVER_IMAGE (default SQL Server 2022),
//  3. for Postgres, the machine's own programs, on a temporary cluster.
//
// Where none is to be had the test is skipped with a text that names these
// ways, or fails if SLOTKEEPER_TEST_REQUIRE lists the engine. Whatever was
// started listens on 127.0.0.1 only and is ended with the test binary, also
// when that one fails, is interrupted or is killed.
//
// A package that uses it needs
//
//	func TestMain(m *testing.M) { os.Exit(engines.Main(m)) }
package engines

import (
	"path/filepath"
	"testing"
)

// current is what the tests of this binary share. It changes as servers are
// started, which the house forbids for globals; but testing hands a test
// nothing that outlives it, and one server for each test would cost minutes.
var current = newSession(osEnvironment())

// Postgres returns the DSN (postgres://…) of a new, empty database that is
// dropped when the test ends. Without a server the test is skipped, or fails
// where SLOTKEEPER_TEST_REQUIRE lists postgres.
func Postgres(tb testing.TB) string {
	tb.Helper()
	return current.database(tb, postgresName)
}

// SQLServer returns the DSN (sqlserver://…?database=…) of a new, empty database
// that is dropped when the test ends; close connections to it before that, since
// the server drops no database in use. Without a server the test is skipped, or
// fails where SLOTKEEPER_TEST_REQUIRE lists sqlserver.
func SQLServer(tb testing.TB) string {
	tb.Helper()
	return current.database(tb, sqlserverName)
}

// SQLite returns the DSN (sqlite:PATH) of a file that does not exist yet, in a
// folder that is removed when the test ends.
func SQLite(tb testing.TB) string {
	tb.Helper()
	current.countFile(tb)
	return "sqlite:" + filepath.Join(tb.TempDir(), "slotkeeper.db")
}

// Main runs the tests of a binary, ends every server that was started for
// them, prints how each engine was had, and returns the exit code. The same
// end is made on SIGINT and SIGTERM.
func Main(m *testing.M) int { return current.run(m.Run) }
