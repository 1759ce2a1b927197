package sqlserver

import (
	"context"
	"database/sql"

	"slotkeeper/app"
)

// CreateResource implements app.Store.
func (s *Store) CreateResource(ctx context.Context, r app.Resource) (app.Resource, error) {
	err := s.write(ctx, "resource_create", args{"key": r.Key, "name": r.Name, "kind": string(r.Kind)}, one(&r.ID))
	return r, err
}

func eachResource(visit func(app.Resource)) each {
	return func(rows *sql.Rows) error {
		var r app.Resource
		if err := rows.Scan(&r.ID, &r.Key, &r.Name, &r.Kind); err != nil {
			return err
		}
		visit(r)
		return nil
	}
}

// Resource implements app.Store.
func (s *Store) Resource(ctx context.Context, key string) (r app.Resource, err error) {
	err = s.read(ctx, "resource_get", args{"key": key}, eachResource(func(found app.Resource) { r = found }))
	if err == nil && r.ID == 0 {
		err = app.ErrResourceNotFound
	}
	return r, err
}

// Resources implements app.Store. The order is that of UTF-16 units, which is
// the order of bytes but for a few rare characters beside those above U+FFFF.
func (s *Store) Resources(ctx context.Context, after string, limit int) ([]app.Resource, error) {
	found := []app.Resource{}
	err := s.read(ctx, "resource_list", args{"after": after, "limit": limit},
		eachResource(func(r app.Resource) { found = append(found, r) }))
	return found, err
}
