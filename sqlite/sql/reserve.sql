-- ?1 JSON array of [slot id, user id, state, time of creation, time of expiry or null], in order of arrival.
INSERT INTO reservations (slot_id, user_id, status, created_at, expires_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?1)
RETURNING id, slot_id, user_id
