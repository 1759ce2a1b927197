-- ?1 slot id, ?2 user id. One row if the slot exists; its first column is NULL
-- when the user has no live reservation.
SELECT r.id, s.id, r.user_id, r.status, r.created_at, r.expires_at
FROM slots s
LEFT JOIN reservations r ON r.slot_id = s.id AND r.user_id = ?2 AND r.status IN ('held', 'confirmed')
    AND (r.status = 'confirmed' OR r.expires_at > CAST(unixepoch('subsec') * 1000000 AS INTEGER))
WHERE s.id = ?1
