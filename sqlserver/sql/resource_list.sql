-- Keys above @after, at most @limit.
SELECT TOP (CAST(@limit AS BIGINT)) id, [key], name, kind FROM resources WHERE [key] > @after ORDER BY [key];
