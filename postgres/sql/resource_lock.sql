-- $1 keys. Ascending by id, as every transaction that takes several.
SELECT id, key, kind FROM resources WHERE key = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE
