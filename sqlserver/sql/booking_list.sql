-- @resource key; overlapping [@from, @to), behind (@after_start, @after_id), at
-- most @limit. A row if the resource exists, its id NULL if there is none to list.
SELECT b.id, k.[key], k.kind, b.user_id, b.starts_at, b.ends_at, b.status, b.created_at, b.expires_at
FROM resources AS k
OUTER APPLY (SELECT TOP (CAST(@limit AS BIGINT)) id, user_id, starts_at, ends_at, status, created_at, expires_at
             FROM bookings
             WHERE resource_id = k.id
               AND (status = 'confirmed' OR status = 'held' AND expires_at > SYSDATETIMEOFFSET())
               AND ends_at > CAST(@from AS DATETIMEOFFSET(6)) AND starts_at < CAST(@to AS DATETIMEOFFSET(6))
               AND (starts_at > CAST(@after_start AS DATETIMEOFFSET(6))
                    OR starts_at = CAST(@after_start AS DATETIMEOFFSET(6)) AND id > @after_id)
             ORDER BY starts_at, id) AS b
WHERE k.[key] = @resource
ORDER BY b.starts_at, b.id;
