-- $1 booking id. What has expired is gone already.
DELETE FROM bookings
WHERE id = $1 AND (status = 'confirmed' OR status = 'held' AND expires_at > clock_timestamp())
