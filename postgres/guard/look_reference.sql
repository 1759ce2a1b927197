-- $1 bookings, $2 its column, $3 slots, tables quoted: whether a foreign key
-- says that a booking's slot exists.
SELECT EXISTS (
    SELECT FROM pg_constraint AS f
    JOIN pg_attribute AS a ON a.attrelid = f.conrelid AND f.conkey = ARRAY[a.attnum]
    WHERE f.contype = 'f' AND f.conrelid = to_regclass($1) AND a.attname = $2 AND f.confrelid = to_regclass($3))
