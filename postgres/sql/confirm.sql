-- $1, $2 slot ids and reservation ids, pairwise.
UPDATE reservations r SET status = 'confirmed', expires_at = NULL
FROM unnest($1::bigint[], $2::bigint[]) AS k (slot_id, id)
WHERE r.slot_id = k.slot_id AND r.id = k.id
