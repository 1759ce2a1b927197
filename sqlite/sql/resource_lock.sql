-- ?1 JSON array of keys. The transaction holds the one write lock already.
SELECT id, key, kind FROM resources WHERE key IN (SELECT value FROM json_each(?1))
