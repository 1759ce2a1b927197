-- $1, $2 slot ids and user ids, pairwise; $3 the different slot ids. One
-- statement, so one snapshot: what a transaction has committed and answered,
-- here or through another replica, is seen; nothing is locked.
WITH s AS MATERIALIZED (
    SELECT id, starts_at, capacity,
           reserved - (SELECT count(*) FROM reservations r
                       WHERE r.slot_id = slots.id AND r.status = 'held' AND r.expires_at <= statement_timestamp()) AS reserved
    FROM slots WHERE id = ANY ($3::bigint[])
)
SELECT 0, s.id, '', s.starts_at, s.capacity, s.reserved::int, statement_timestamp() FROM s
UNION ALL
SELECT 1, k.slot_id, k.user_id, NULL, 0, 0, NULL
FROM unnest($1::bigint[], $2::text[]) AS k (slot_id, user_id)
CROSS JOIN LATERAL (
    SELECT FROM reservations r
    WHERE r.slot_id = k.slot_id AND r.user_id = k.user_id
      AND (r.status = 'confirmed' OR r.status = 'held' AND r.expires_at > statement_timestamp())
      AND r.status IN ('held', 'confirmed')
    LIMIT 1
) r
