-- ?1 JSON array of reservation ids.
DELETE FROM reservations WHERE id IN (SELECT value FROM json_each(?1))
