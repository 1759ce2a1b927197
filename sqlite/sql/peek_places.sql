-- ?1 JSON array of [slot id, user id]: those that are live, holds that have expired left out.
SELECT r.id, r.slot_id, r.user_id, r.status, r.created_at, r.expires_at
FROM json_each(?1) k
CROSS JOIN reservations r ON r.slot_id = k.value ->> 0 AND r.user_id = k.value ->> 1
    AND r.status IN ('held', 'confirmed')
WHERE r.status = 'confirmed' OR r.expires_at > CAST(unixepoch('subsec') * 1000000 AS INTEGER)
