-- $1 slot ids. The slots as they are now that their holds have been expired.
SELECT id, starts_at, capacity, reserved, statement_timestamp() FROM slots WHERE id = ANY ($1::bigint[])
