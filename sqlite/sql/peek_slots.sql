-- ?1 slot ids as a JSON array. Reads with peek_places in one snapshot; nothing is locked.
SELECT id, starts_at, capacity,
       reserved - (SELECT count(*) FROM reservations r
                   WHERE r.slot_id = slots.id AND r.status = 'held' AND r.expires_at <= CAST(unixepoch('subsec') * 1000000 AS INTEGER)),
       CAST(unixepoch('subsec') * 1000000 AS INTEGER)
FROM slots WHERE id IN (SELECT value FROM json_each(?1))
