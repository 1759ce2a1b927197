-- $1 key.
SELECT id, key, name, kind FROM resources WHERE key = $1
