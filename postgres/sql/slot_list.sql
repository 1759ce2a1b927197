-- $1, $2 starts within [$1, $2); $3, $4 behind this start and id; $5 only with
-- a place left; $6 at least this long; $7 limit.
SELECT * FROM (
    SELECT s.id, coalesce(k.key, ''), s.starts_at, s.ends_at, s.capacity, s.version,
       (s.reserved - (SELECT count(*) FROM
           (SELECT FROM reservations r
            WHERE r.slot_id = s.id AND r.status = 'held' AND r.expires_at <= statement_timestamp()
            ORDER BY r.expires_at OFFSET 0) due))::int AS reserved
    FROM slots s LEFT JOIN resources k ON k.id = s.resource_id
    WHERE s.starts_at >= $1 AND s.starts_at < $2
      AND (s.starts_at, s.id) > ($3, $4)
      AND s.ends_at - s.starts_at >= $6::interval
) listed
WHERE NOT $5 OR reserved < capacity
ORDER BY starts_at, id LIMIT $7
