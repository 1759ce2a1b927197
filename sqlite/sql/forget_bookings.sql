-- ?1 limit.
DELETE FROM bookings
WHERE id IN (SELECT id FROM bookings WHERE status = 'expired' AND expires_at < CAST(unixepoch('subsec') * 1000000 AS INTEGER) - 86400000000 LIMIT ?1)
