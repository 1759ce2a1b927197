-- ?1 JSON array of reservation ids.
UPDATE reservations SET status = 'confirmed', expires_at = NULL WHERE id IN (SELECT value FROM json_each(?1))
