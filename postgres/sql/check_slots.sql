-- Slots whose counter is not the count, or that hold more than their capacity.
SELECT s.id, s.capacity, s.reserved, coalesce(c.n, 0)::int
FROM slots s
LEFT JOIN (SELECT slot_id, count(*) AS n FROM reservations
           WHERE status IN ('held', 'confirmed') GROUP BY slot_id) c ON c.slot_id = s.id
WHERE s.reserved <> coalesce(c.n, 0) OR coalesce(c.n, 0) > s.capacity
ORDER BY s.id
