-- ?1 limit of holds. The slots with holds that have expired.
SELECT DISTINCT slot_id FROM (
    SELECT slot_id FROM reservations WHERE status = 'held' AND expires_at <= CAST(unixepoch('subsec') * 1000000 AS INTEGER) LIMIT ?1
)
