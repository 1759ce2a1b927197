-- ?1 limit. A late confirmation is told why for a day.
DELETE FROM reservations
WHERE id IN (SELECT id FROM reservations WHERE status = 'expired' AND expires_at < CAST(unixepoch('subsec') * 1000000 AS INTEGER) - 86400000000 LIMIT ?1)
