-- @slot_id, @user_id. A row if the slot exists, its id NULL if the user has none.
SELECT r.id, r.user_id, r.status, r.created_at, r.expires_at
FROM slots AS s
LEFT JOIN reservations AS r ON r.slot_id = s.id AND r.user_id = @user_id
     AND (r.status = 'confirmed' OR r.status = 'held' AND r.expires_at > SYSDATETIMEOFFSET())
WHERE s.id = @slot_id;
