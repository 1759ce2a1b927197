-- $1 key. A slot's resource that nobody has named yet is a place.
INSERT INTO resources (key, name, kind) VALUES ($1, $1, 'place') ON CONFLICT (key) DO NOTHING
