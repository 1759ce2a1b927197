-- @slot_id, ids above @after, at most @limit, oldest first. A row if the slot
-- exists, its id NULL if there is none to list.
SELECT r.id, r.user_id, r.status, r.created_at, r.expires_at
FROM slots AS s
OUTER APPLY (SELECT TOP (CAST(@limit AS BIGINT)) id, user_id, status, created_at, expires_at
             FROM reservations
             WHERE slot_id = s.id AND id > @after
               AND (status = 'confirmed' OR status = 'held' AND expires_at > SYSDATETIMEOFFSET())
             ORDER BY id) AS r
WHERE s.id = @slot_id
ORDER BY r.id;
