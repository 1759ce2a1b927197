-- $1 slot ids, locked. The trigger on reservations frees the places.
UPDATE reservations SET status = 'expired'
WHERE slot_id = ANY ($1::bigint[]) AND status = 'held' AND expires_at <= statement_timestamp()
