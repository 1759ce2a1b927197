-- Resources taken twice at a time: each claim against those that start before it.
SELECT k.[key], o.what
FROM (SELECT resource_id, what, starts_at,
             MAX(ends_at) OVER (PARTITION BY resource_id ORDER BY starts_at, ends_at
                                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS taken_until
      FROM (SELECT resource_id, CONCAT('booking ', id) AS what, starts_at, ends_at FROM bookings
            WHERE status = 'confirmed' OR status = 'held' AND expires_at > SYSDATETIMEOFFSET()
            UNION ALL
            SELECT resource_id, CONCAT('slot ', id), starts_at, ends_at FROM slots WHERE resource_id IS NOT NULL) AS claims) AS o
INNER JOIN resources AS k ON k.id = o.resource_id
WHERE o.taken_until > o.starts_at
ORDER BY k.[key], o.starts_at;
