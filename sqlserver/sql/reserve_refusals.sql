-- @items_json as in reserve_all.sql: why each item cannot be, '' where it can.
-- Read without locks, to explain a refusal, never to decide.
SELECT j.i,
       CASE WHEN s.id IS NULL THEN 'slot-not-found'
            WHEN EXISTS (SELECT 1 FROM reservations AS r
                         WHERE r.slot_id = s.id AND r.user_id = j.[user]
                           AND (r.status = 'confirmed' OR r.status = 'held' AND r.expires_at > SYSDATETIMEOFFSET()))
                THEN 'already-reserved'
            WHEN j.past = 0 AND s.starts_at <= SYSDATETIMEOFFSET() THEN 'slot-started'
            WHEN s.capacity <= (SELECT COUNT(*) FROM reservations AS r
                                WHERE r.slot_id = s.id
                                  AND (r.status = 'confirmed' OR r.status = 'held' AND r.expires_at > SYSDATETIMEOFFSET()))
                THEN 'slot-full'
            ELSE '' END AS refusal
FROM OPENJSON(@items_json) WITH (i INT '$.i', slot BIGINT '$.slot', [user] NVARCHAR(256) '$.user', past BIT '$.past') AS j
LEFT JOIN slots AS s ON s.id = j.slot
ORDER BY j.i;
