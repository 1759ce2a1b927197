-- $1 key, $2 name, $3 kind.
INSERT INTO resources (key, name, kind) VALUES ($1, $2, $3) RETURNING id
