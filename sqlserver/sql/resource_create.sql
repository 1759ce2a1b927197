-- @key, @name, @kind.
INSERT INTO resources ([key], name, kind) VALUES (@key, @name, @kind);
SELECT CAST(SCOPE_IDENTITY() AS BIGINT) AS id;
