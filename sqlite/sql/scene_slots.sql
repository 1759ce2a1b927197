-- ?1 slot ids as a JSON array. The slots as they are now that their holds have been expired.
SELECT id, starts_at, capacity, reserved, CAST(unixepoch('subsec') * 1000000 AS INTEGER) FROM slots
WHERE id IN (SELECT value FROM json_each(?1))
