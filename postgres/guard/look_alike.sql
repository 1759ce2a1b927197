-- $1 a table's name: tables that are called so, capitals aside, in any schema.
SELECT format('%I.%I', n.nspname, c.relname)
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE lower(c.relname) = lower($1) AND c.relkind IN ('r', 'p') AND n.nspname NOT LIKE 'pg\_%'
ORDER BY 1 LIMIT 5
