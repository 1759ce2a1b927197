-- $1 resource id, $2 its kind, $3 user id, $4 starts_at, $5 ends_at, $6 seconds of hold, 0 for none.
INSERT INTO bookings (place_id, thing_id, user_id, starts_at, ends_at, status, created_at, expires_at)
SELECT CASE WHEN $2 = 'place' THEN $1::bigint END, CASE WHEN $2 = 'thing' THEN $1::bigint END, $3, $4, $5,
       CASE WHEN $6 > 0 THEN 'held' ELSE 'confirmed' END, now.at,
       CASE WHEN $6 > 0 THEN now.at + make_interval(secs => $6::int) END
FROM (SELECT statement_timestamp() AS at) now
RETURNING id, status, created_at, expires_at
