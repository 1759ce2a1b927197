-- ?1 slot ids as a JSON array. The triggers on reservations free the places.
UPDATE reservations SET status = 'expired'
WHERE slot_id IN (SELECT value FROM json_each(?1)) AND status = 'held' AND expires_at <= CAST(unixepoch('subsec') * 1000000 AS INTEGER)
