-- Slots that hold more than their capacity.
SELECT s.id, s.capacity, c.n
FROM slots AS s
INNER JOIN (SELECT slot_id, COUNT(*) AS n FROM reservations
            WHERE status = 'confirmed' OR status = 'held' AND expires_at > SYSDATETIMEOFFSET()
            GROUP BY slot_id) AS c ON c.slot_id = s.id
WHERE c.n > s.capacity
ORDER BY s.id;
