-- $1 behind this key, $2 limit.
SELECT id, key, name, kind FROM resources WHERE key > $1 ORDER BY key LIMIT $2
