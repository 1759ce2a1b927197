-- $1, $2 slot ids and user ids, pairwise: their live reservations. LIMIT keeps
-- the planner to one index probe a pair, however large the table.
SELECT r.id, k.slot_id, k.user_id, r.status, r.created_at, r.expires_at
FROM unnest($1::bigint[], $2::text[]) AS k (slot_id, user_id)
CROSS JOIN LATERAL (
    SELECT id, status, created_at, expires_at FROM reservations
    WHERE slot_id = k.slot_id AND user_id = k.user_id AND status IN ('held', 'confirmed')
    LIMIT 1
) r
