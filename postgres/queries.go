package postgres

import "strings"

var statements = loadStatements()

func loadStatements() map[string]string {
	files, _ := queryFiles.ReadDir("sql") // embedded: cannot fail
	loaded := make(map[string]string, len(files))
	for _, f := range files {
		b, _ := queryFiles.ReadFile("sql/" + f.Name())
		loaded[strings.TrimSuffix(f.Name(), ".sql")] = string(b)
	}
	return loaded
}

// query returns the statement of sql/name.sql; an unknown name is a bug that
// the first test meets.
func query(name string) string {
	sql, ok := statements[name]
	if !ok {
		panic("no statement sql/" + name + ".sql")
	}
	return sql
}
