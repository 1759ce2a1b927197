-- $1 schema, $2 name: what it is, whether it is part of a family of tables,
-- whether row security hides rows of it from this login, whether this login is
-- a superuser and its owner none.
SELECT c.relkind = 'r' AND c.relpersistence <> 't',
       EXISTS (SELECT FROM pg_inherits AS i WHERE c.oid IN (i.inhrelid, i.inhparent)),
       row_security_active(c.oid),
       me.rolsuper AND NOT owner.rolsuper
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_roles AS me ON me.rolname = current_user
JOIN pg_roles AS owner ON owner.oid = c.relowner
WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
