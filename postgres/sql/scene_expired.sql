-- $1, $2 slot ids and user ids, pairwise: those with a hold that expired.
SELECT k.slot_id, k.user_id
FROM unnest($1::bigint[], $2::text[]) AS k (slot_id, user_id)
WHERE EXISTS (
    SELECT FROM reservations r
    WHERE r.slot_id = k.slot_id AND r.user_id = k.user_id AND r.status = 'expired'
)
