-- $1 booking id. No row: it is no hold, or no longer.
UPDATE bookings SET status = 'confirmed', expires_at = NULL
WHERE id = $1 AND status = 'held' AND expires_at > clock_timestamp()
