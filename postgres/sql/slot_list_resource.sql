-- As slot_list with $8 a resource key: its own statement, since each has but
-- one plan and another index serves it.
SELECT * FROM (
    SELECT s.id, k.key, s.starts_at, s.ends_at, s.capacity, s.version,
       (s.reserved - (SELECT count(*) FROM
           (SELECT FROM reservations r
            WHERE r.slot_id = s.id AND r.status = 'held' AND r.expires_at <= statement_timestamp()
            ORDER BY r.expires_at OFFSET 0) due))::int AS reserved
    FROM slots s JOIN resources k ON k.id = s.resource_id
    WHERE s.resource_id = (SELECT id FROM resources WHERE key = $8)
      AND s.starts_at >= $1 AND s.starts_at < $2
      AND (s.starts_at, s.id) > ($3, $4)
      AND s.ends_at - s.starts_at >= $6::interval
) listed
WHERE NOT $5 OR reserved < capacity
ORDER BY starts_at, id LIMIT $7
