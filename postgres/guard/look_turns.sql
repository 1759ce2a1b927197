-- $1 table, quoted: its comment, and its kind, columns and key in one line.
SELECT coalesce(obj_description(c.oid, 'pg_class'), ''),
       concat_ws(', ', c.relkind::text || c.relpersistence::text,
           (SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attnum)
            FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
           (SELECT 'key ' || i.indkey::text FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indisprimary))
FROM pg_class AS c
WHERE c.oid = to_regclass($1)
