-- $1 limit. A late confirmation is told why for a day.
DELETE FROM reservations
WHERE (slot_id, id) IN (SELECT slot_id, id FROM reservations
                        WHERE status = 'expired' AND expires_at < statement_timestamp() - interval '1 day' LIMIT $1)
