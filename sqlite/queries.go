package sqlite

import (
	"context"
	"database/sql"
	"strings"
	"sync/atomic"
)

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

// prepared keeps the statements of a batch ready on the writer's connection: to
// parse them and their triggers took some 0.3 ms of each.
type prepared struct {
	ready atomic.Pointer[map[string]*sql.Stmt] // by text
}

// on returns the statements, and prepares them where nobody has: outside of a
// transaction, which has the writer's only connection. Of those who come first
// each prepares its own, in its own time, and all but one give theirs up.
func (p *prepared) on(ctx context.Context, writer *sql.DB) (map[string]*sql.Stmt, error) {
	if ready := p.ready.Load(); ready != nil {
		return *ready, nil
	}
	list := map[string]*sql.Stmt{}
	for _, name := range []string{"expire_holds", "scene_slots", "scene_places", "scene_expired", "confirm", "cancel", "reserve"} {
		stmt, err := writer.PrepareContext(ctx, query(name)) //nolint:sqlclosecheck // it lives as long as writer
		if err != nil {
			closeAll(list)
			return nil, err
		}
		list[query(name)] = stmt
	}
	if !p.ready.CompareAndSwap(nil, &list) {
		closeAll(list)
	}
	return *p.ready.Load(), nil
}

func closeAll(list map[string]*sql.Stmt) {
	for _, stmt := range list {
		_ = stmt.Close() // nothing was written with it
	}
}

// preparedTx is a transaction that runs prepared statements as such; its end
// closes them for itself.
type preparedTx struct {
	*sql.Tx
	list map[string]*sql.Stmt
}

func (t preparedTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return t.StmtContext(ctx, t.list[query]).QueryContext(ctx, args...) //nolint:sqlclosecheck // see above
}

func (t preparedTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return t.StmtContext(ctx, t.list[query]).ExecContext(ctx, args...) //nolint:sqlclosecheck // see above
}
