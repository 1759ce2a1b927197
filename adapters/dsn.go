package adapters

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Engine names one of the databases that the service runs on.
type Engine string

// The engines, by the scheme of their DSN.
const (
	SQLite    Engine = "sqlite"    // sqlite:PATH
	Postgres  Engine = "postgres"  // postgres://…
	SQLServer Engine = "sqlserver" // sqlserver://…
)

var schemePattern = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*):`)

// EngineOf returns the engine that a DSN names, and a sentence that never
// shows more of the DSN than its scheme where it names none.
func EngineOf(dsn string) (Engine, error) {
	const use = "use sqlite:PATH, postgres://user:password@host/database or sqlserver://user:password@host?database=name"
	m := schemePattern.FindStringSubmatch(dsn)
	if m == nil {
		return "", errors.New("the database has no scheme: " + use)
	}
	switch rest := dsn[len(m[0]):]; strings.ToLower(m[1]) {
	case "sqlite":
		return SQLite, nil
	case "postgres", "postgresql":
		if strings.HasPrefix(rest, "//") {
			return Postgres, nil
		}
	case "sqlserver":
		if strings.HasPrefix(rest, "//") {
			return SQLServer, nil
		}
	default:
		return "", fmt.Errorf("the database has the unknown scheme %q: %s", m[1], use)
	}
	return "", fmt.Errorf("the database's scheme %s lacks its two slashes: %s", m[1], use)
}

// sqlitePath returns the file of a sqlite DSN. It refuses a path at which no
// file can be made, which SQLite itself reports less plainly.
func sqlitePath(dsn string) (string, error) {
	_, file, _ := strings.Cut(dsn, ":")
	if file == "" || file == ":memory:" {
		return "", errors.New("sqlite needs a file, so that reservations outlive the process: use sqlite:PATH")
	}
	info, err := os.Stat(file)
	if err == nil && info.IsDir() {
		return "", fmt.Errorf("%s is a directory: name a file in it, as in sqlite:%s", file, filepath.Join(file, "slotkeeper.db"))
	}
	dir := filepath.Dir(file)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("the directory %s of the database does not exist: create it, or name another with --db", dir)
	}
	return file, nil
}
