-- $1 function, quoted, with (): its text, and whether all else is as made.
SELECT p.prosrc,
       l.lanname = 'plpgsql' AND p.prosecdef AND p.provolatile = 'v' AND p.prorettype = 'trigger'::regtype
       AND p.proconfig = ARRAY['search_path=pg_catalog, pg_temp', 'row_security=off']
       AND NOT EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS r WHERE r.grantee = 0)
FROM pg_proc AS p
JOIN pg_language AS l ON l.oid = p.prolang
WHERE p.oid = to_regprocedure($1)
