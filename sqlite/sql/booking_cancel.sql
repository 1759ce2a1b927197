-- ?1 booking id. What has expired is gone already.
DELETE FROM bookings WHERE id = ?1 AND (status = 'confirmed' OR status = 'held' AND expires_at > CAST(unixepoch('subsec') * 1000000 AS INTEGER))
