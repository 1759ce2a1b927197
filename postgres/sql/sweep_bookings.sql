-- $1 limit. What another replica sweeps at this moment is left to it.
UPDATE bookings SET status = 'expired'
WHERE id IN (SELECT id FROM bookings WHERE status = 'held' AND expires_at <= statement_timestamp()
             LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED)
