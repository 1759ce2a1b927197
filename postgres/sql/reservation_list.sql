-- $1 slot id, $2 behind this id, $3 limit. At least one row if the slot
-- exists; its first column is NULL when there is none to list.
SELECT r.id, s.id, r.user_id, r.status, r.created_at, r.expires_at
FROM slots s
LEFT JOIN LATERAL (
    SELECT * FROM reservations
    WHERE slot_id = s.id AND id > $2 AND status IN ('held', 'confirmed')
      AND (status = 'confirmed' OR expires_at > statement_timestamp())
    ORDER BY id LIMIT $3
) r ON true
WHERE s.id = $1
ORDER BY r.id
