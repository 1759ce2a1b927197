-- $1 limit of holds. The slots with holds that have expired.
SELECT DISTINCT slot_id FROM (
    SELECT slot_id FROM reservations WHERE status = 'held' AND expires_at <= statement_timestamp() LIMIT $1
) due
