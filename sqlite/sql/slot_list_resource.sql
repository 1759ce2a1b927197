-- ?1, ?2 starts within [?1, ?2); ?3, ?4 behind this start and id; ?5 only with a
-- place left; ?6 at least this many microseconds long; ?7 limit, ?8 resource key
SELECT * FROM (
    SELECT s.id, coalesce(k.key, ''), s.starts_at, s.ends_at, s.capacity, s.version,
       s.reserved - (SELECT count(*) FROM reservations r
                     WHERE r.slot_id = s.id AND r.status = 'held' AND r.expires_at <= CAST(unixepoch('subsec') * 1000000 AS INTEGER)) AS reserved
    FROM slots s LEFT JOIN resources k ON k.id = s.resource_id
    WHERE s.starts_at >= ?1 AND s.starts_at < ?2 AND (s.starts_at, s.id) > (?3, ?4)
      AND s.ends_at - s.starts_at >= ?6
      AND s.resource_id = (SELECT id FROM resources WHERE key = ?8)
)
WHERE NOT ?5 OR reserved < capacity
ORDER BY starts_at, id LIMIT ?7
