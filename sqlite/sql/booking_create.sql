-- ?1 resource id, ?2 its kind, ?3 user id, ?4 starts_at, ?5 ends_at, ?6 microseconds of hold, 0 for none.
INSERT INTO bookings (place_id, thing_id, user_id, starts_at, ends_at, status, created_at, expires_at)
SELECT iif(?2 = 'place', ?1, NULL), iif(?2 = 'thing', ?1, NULL), ?3, ?4, ?5,
       iif(?6 > 0, 'held', 'confirmed'), at, iif(?6 > 0, at + ?6, NULL)
FROM (SELECT CAST(unixepoch('subsec') * 1000000 AS INTEGER) AS at)
RETURNING id, status, created_at, expires_at
