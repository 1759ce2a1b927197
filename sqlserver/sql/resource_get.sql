-- @key.
SELECT id, [key], name, kind FROM resources WHERE [key] = @key;
