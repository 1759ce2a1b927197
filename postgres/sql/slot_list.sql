-- $1, $2 starts within [$1, $2); $3, $4 behind this start and id; $5 resource key
-- or ''; $6 only with a place left; $7 at least this long; $8 limit.
SELECT * FROM (
    SELECT s.id, coalesce(k.key, ''), s.starts_at, s.ends_at, s.capacity, s.version,
       (s.reserved - (SELECT count(*) FROM reservations r
                      WHERE r.slot_id = s.id AND r.status = 'held' AND r.expires_at <= statement_timestamp()))::int AS reserved
    FROM slots s LEFT JOIN resources k ON k.id = s.resource_id
    WHERE s.starts_at >= $1 AND s.starts_at < $2
      AND (s.starts_at, s.id) > ($3, $4)
      AND ($5 = '' OR s.resource_id = (SELECT id FROM resources WHERE key = $5))
      AND ($7::interval = interval '0' OR s.ends_at - s.starts_at >= $7::interval)
) listed
WHERE NOT $6 OR reserved < capacity
ORDER BY starts_at, id LIMIT $8
