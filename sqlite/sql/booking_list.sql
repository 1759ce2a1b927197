-- ?1 resource key; overlapping [?2, ?3); ?4, ?5 behind this start and id; ?6
-- limit. At least one row if the resource exists; id is NULL when there is
-- none to list.
SELECT b.id, k.key, k.kind, b.user_id, b.starts_at, b.ends_at, b.status, b.created_at, b.expires_at
FROM resources k
LEFT JOIN (
    SELECT * FROM bookings
    WHERE resource_id = (SELECT id FROM resources WHERE key = ?1) AND status IN ('held', 'confirmed')
      AND (status = 'confirmed' OR expires_at > CAST(unixepoch('subsec') * 1000000 AS INTEGER))
      AND starts_at < ?3 AND ends_at > ?2 AND (starts_at, id) > (?4, ?5)
    ORDER BY starts_at, id LIMIT ?6
) b ON true
WHERE k.key = ?1
ORDER BY b.starts_at, b.id
