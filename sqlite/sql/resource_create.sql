-- ?1 key, ?2 name, ?3 kind. No row: the key is taken.
INSERT INTO resources (key, name, kind) VALUES (?1, ?2, ?3) ON CONFLICT (key) DO NOTHING RETURNING id
