-- ?1 limit.
UPDATE bookings SET status = 'expired'
WHERE id IN (SELECT id FROM bookings WHERE status = 'held' AND expires_at <= CAST(unixepoch('subsec') * 1000000 AS INTEGER) LIMIT ?1)
