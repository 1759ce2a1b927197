-- @id. Holds that have expired count as free.
SELECT s.id, COALESCE(k.[key], N'') AS resource, s.starts_at, s.ends_at, s.capacity, s.version,
       (SELECT COUNT(*) FROM reservations AS r
        WHERE r.slot_id = s.id
          AND (r.status = 'confirmed' OR r.status = 'held' AND r.expires_at > SYSDATETIMEOFFSET())) AS reserved
FROM slots AS s
LEFT JOIN resources AS k ON k.id = s.resource_id
WHERE s.id = @id;
