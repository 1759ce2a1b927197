-- @resource key, within [@from, @to), at least @minimum microseconds. A gap runs
-- from the latest end so far to the next start. A row if the resource exists,
-- NULL if nothing is free.
WITH busy AS (
    SELECT b.starts_at, b.ends_at
    FROM bookings AS b INNER JOIN resources AS k ON k.id = b.resource_id
    WHERE k.[key] = @resource AND (b.status = 'confirmed' OR b.status = 'held' AND b.expires_at > SYSDATETIMEOFFSET())
      AND b.ends_at > CAST(@from AS DATETIMEOFFSET(6)) AND b.starts_at < CAST(@to AS DATETIMEOFFSET(6))
    UNION ALL
    SELECT s.starts_at, s.ends_at
    FROM slots AS s INNER JOIN resources AS k ON k.id = s.resource_id
    WHERE k.[key] = @resource
      AND s.ends_at > CAST(@from AS DATETIMEOFFSET(6)) AND s.starts_at < CAST(@to AS DATETIMEOFFSET(6))
    UNION ALL
    SELECT CAST(@to AS DATETIMEOFFSET(6)), CAST(@to AS DATETIMEOFFSET(6))
), gaps AS (
    SELECT MAX(ends_at) OVER (ORDER BY starts_at, ends_at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last_end,
           starts_at AS free_to
    FROM busy
), clipped AS (
    SELECT CASE WHEN last_end > CAST(@from AS DATETIMEOFFSET(6)) THEN last_end ELSE CAST(@from AS DATETIMEOFFSET(6)) END AS free_from,
           free_to
    FROM gaps
)
SELECT c.free_from, c.free_to
FROM resources AS k
LEFT JOIN clipped AS c ON c.free_to > c.free_from AND DATEDIFF_BIG(MICROSECOND, c.free_from, c.free_to) >= @minimum
WHERE k.[key] = @resource
ORDER BY c.free_from;
