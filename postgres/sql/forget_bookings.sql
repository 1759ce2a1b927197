-- $1 limit.
DELETE FROM bookings
WHERE id IN (SELECT id FROM bookings
             WHERE status = 'expired' AND expires_at < statement_timestamp() - interval '1 day' LIMIT $1)
