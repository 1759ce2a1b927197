-- $1 slot id, $2 user id, $3 created_at or NULL for now, $4 how long a hold lasts,
-- 0 for none, $5 a start in the past is no matter. A row only where nothing stands
-- in the way: the slot's row is free to lock, and has a place in its newest state.
INSERT INTO reservations (slot_id, user_id, status, created_at, expires_at)
SELECT s.id, $2::text, CASE WHEN $4::interval > interval '0' THEN 'held' ELSE 'confirmed' END,
       coalesce($3::timestamptz, statement_timestamp()),
       CASE WHEN $4 > interval '0' THEN statement_timestamp() + $4 END
FROM slots s
WHERE s.id = $1 AND s.reserved < s.capacity AND ($5::boolean OR s.starts_at > statement_timestamp())
FOR NO KEY UPDATE SKIP LOCKED
ON CONFLICT DO NOTHING
RETURNING id, status, created_at, expires_at
