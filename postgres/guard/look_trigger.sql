-- $1 table, quoted; $2 trigger; $3 function, quoted, with (); $4 its type, a sum
-- of 4 for INSERT and 16 for UPDATE, which says AFTER and each statement, too:
-- whether it calls that function, is enabled, and is as made.
SELECT coalesce(t.tgfoid = to_regprocedure($3), false), t.tgenabled IN ('O', 'A'),
       t.tgtype = $4 AND t.tgqual IS NULL AND t.tgnargs = 0 AND t.tgattr::text = '' AND t.tgconstraint = 0
       AND t.tgnewtable IS NOT DISTINCT FROM 'new_rows' AND t.tgoldtable IS NOT DISTINCT FROM CASE WHEN $4 = 16 THEN 'old_rows' END
FROM pg_trigger AS t
WHERE t.tgrelid = to_regclass($1) AND t.tgname = $2 AND NOT t.tgisinternal
