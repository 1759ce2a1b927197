-- ?1 resource key; within [?2, ?3); ?4 at least this many microseconds. One
-- row with NULLs if the resource exists and nothing is free, none if it does
-- not exist. A gap runs from the latest end so far to the next start.
WITH busy AS (
    SELECT b.starts_at, b.ends_at FROM bookings b JOIN resources k ON k.id = b.resource_id
    WHERE k.key = ?1 AND b.status IN ('held', 'confirmed') AND (b.status = 'confirmed' OR b.expires_at > CAST(unixepoch('subsec') * 1000000 AS INTEGER))
      AND b.starts_at < ?3 AND b.ends_at > ?2
    UNION ALL
    SELECT s.starts_at, s.ends_at FROM slots s JOIN resources k ON k.id = s.resource_id
    WHERE k.key = ?1 AND s.starts_at < ?3 AND s.ends_at > ?2
    UNION ALL
    SELECT ?3, ?3
), gaps AS (
    SELECT max(?2, coalesce(max(ends_at) OVER (ORDER BY starts_at, ends_at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), ?2)) AS free_from,
           starts_at AS free_to
    FROM busy
)
SELECT g.free_from, g.free_to
FROM resources k LEFT JOIN gaps g ON g.free_to > g.free_from AND g.free_to - g.free_from >= ?4
WHERE k.key = ?1
ORDER BY g.free_from
