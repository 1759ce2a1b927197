-- $1..$5 slot ids, user ids, states, times of creation and of expiry, in order of arrival.
INSERT INTO reservations (slot_id, user_id, status, created_at, expires_at)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[])
RETURNING id, slot_id, user_id
