-- $1 slot id. A hold that has expired counts as gone, swept or not; ORDER BY
-- keeps also a planner without statistics to the index of holds.
SELECT s.id, coalesce(k.key, ''), s.starts_at, s.ends_at, s.capacity, s.version,
       (s.reserved - (SELECT count(*) FROM
           (SELECT FROM reservations r
            WHERE r.slot_id = s.id AND r.status = 'held' AND r.expires_at <= statement_timestamp()
            ORDER BY r.expires_at OFFSET 0) due))::int AS reserved
FROM slots s LEFT JOIN resources k ON k.id = s.resource_id
WHERE s.id = $1
