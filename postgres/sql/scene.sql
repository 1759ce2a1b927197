-- $1 different slot ids; $2, $3 slot ids and user ids, pairwise. One statement,
-- so one snapshot: the slots, with when the first of their holds expires (ORDER
-- BY keeps also a planner without statistics to the index of holds), then the
-- pairs' live reservations. LIMIT keeps it to one index probe a pair.
SELECT s.id, NULL, NULL::bigint, s.starts_at, statement_timestamp(), NULL, s.capacity, s.reserved,
       (SELECT expires_at FROM reservations r
        WHERE r.slot_id = s.id AND r.status = 'held' ORDER BY expires_at LIMIT 1)
FROM slots s WHERE s.id = ANY ($1::bigint[])
UNION ALL
SELECT k.slot_id, k.user_id, r.id, r.created_at, r.expires_at, r.status, 0, 0, NULL
FROM unnest($2::bigint[], $3::text[]) AS k (slot_id, user_id)
CROSS JOIN LATERAL (
    SELECT id, status, created_at, expires_at FROM reservations
    WHERE slot_id = k.slot_id AND user_id = k.user_id AND status IN ('held', 'confirmed')
    LIMIT 1
) r
