-- ?1 JSON array of resource ids. Expired holds go before the triggers judge.
UPDATE bookings SET status = 'expired'
WHERE resource_id IN (SELECT value FROM json_each(?1)) AND status IN ('held', 'confirmed')
  AND status = 'held' AND expires_at <= CAST(unixepoch('subsec') * 1000000 AS INTEGER)
