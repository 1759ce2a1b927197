-- Slots that start within [@from, @to) behind (@after_start, @after_id);
-- @resource key or '' for any; @available only with a place left; @minimum at
-- least so many microseconds long; at most @limit.
SELECT TOP (CAST(@limit AS BIGINT)) listed.id, listed.resource, listed.starts_at, listed.ends_at, listed.capacity, listed.version, listed.reserved
FROM (SELECT s.id, COALESCE(k.[key], N'') AS resource, s.starts_at, s.ends_at, s.capacity, s.version,
             (SELECT COUNT(*) FROM reservations AS r
              WHERE r.slot_id = s.id
                AND (r.status = 'confirmed' OR r.status = 'held' AND r.expires_at > SYSDATETIMEOFFSET())) AS reserved
      FROM slots AS s
      LEFT JOIN resources AS k ON k.id = s.resource_id
      WHERE s.starts_at >= CAST(@from AS DATETIMEOFFSET(6)) AND s.starts_at < CAST(@to AS DATETIMEOFFSET(6))
        AND (s.starts_at > CAST(@after_start AS DATETIMEOFFSET(6))
             OR s.starts_at = CAST(@after_start AS DATETIMEOFFSET(6)) AND s.id > @after_id)
        AND (@resource = N'' OR k.[key] = @resource)
        AND (@minimum = 0 OR DATEDIFF_BIG(MICROSECOND, s.starts_at, s.ends_at) >= @minimum)) AS listed
WHERE @available = 0 OR listed.reserved < listed.capacity
ORDER BY listed.starts_at, listed.id;
