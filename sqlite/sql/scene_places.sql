-- ?1 JSON array of [slot id, user id]: their live reservations.
SELECT r.id, r.slot_id, r.user_id, r.status, r.created_at, r.expires_at
FROM json_each(?1) k
CROSS JOIN reservations r ON r.slot_id = k.value ->> 0 AND r.user_id = k.value ->> 1
    AND r.status IN ('held', 'confirmed')
