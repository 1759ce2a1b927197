-- ?1 JSON array of [slot id, user id]: those with a hold that expired.
SELECT DISTINCT r.slot_id, r.user_id
FROM json_each(?1) k
CROSS JOIN reservations r ON r.slot_id = k.value ->> 0 AND r.user_id = k.value ->> 1 AND r.status = 'expired'
