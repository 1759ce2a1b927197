-- $1 table, quoted: its columns, a domain's as what it stands for; whether an
-- index without a predicate begins with one, and whether one is unique by itself.
SELECT a.attname, CASE b.typtype WHEN 'e' THEN 'enum' ELSE format_type(b.oid, NULL) END,
       coalesce((SELECT format('%I.%I', n.nspname, c.collname) FROM pg_collation AS c
                 JOIN pg_namespace AS n ON n.oid = c.collnamespace WHERE c.oid = a.attcollation), ''),
       a.attnotnull, coalesce(x.leads, false), coalesce(x.alone, false)
FROM pg_attribute AS a
CROSS JOIN LATERAL (
    WITH RECURSIVE base AS (
        SELECT t.oid, t.typtype, t.typbasetype FROM pg_type AS t WHERE t.oid = a.atttypid
        UNION ALL
        SELECT t.oid, t.typtype, t.typbasetype FROM base JOIN pg_type AS t ON t.oid = base.typbasetype WHERE base.typtype = 'd')
    SELECT base.oid, base.typtype FROM base WHERE base.typtype <> 'd') AS b
LEFT JOIN LATERAL (
    SELECT bool_or(m.amname IN ('btree', 'hash')) AS leads,
           bool_or(i.indisunique AND i.indimmediate AND i.indnkeyatts = 1) AS alone
    FROM pg_index AS i
    JOIN pg_class AS c ON c.oid = i.indexrelid
    JOIN pg_am AS m ON m.oid = c.relam
    WHERE i.indrelid = a.attrelid AND i.indkey[0] = a.attnum AND i.indcollation[0] = a.attcollation
      AND i.indpred IS NULL AND i.indisvalid AND i.indisready) AS x ON true
WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
