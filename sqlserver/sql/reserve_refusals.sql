-- @items_json as in reserve_all.sql: why each item cannot be, '' where it can.
-- Read without locks, to explain a refusal, never to decide.
-- What OPENJSON gives has the database's collation, and @items the column's.
DECLARE @items TABLE (i INT NOT NULL PRIMARY KEY, slot BIGINT NOT NULL,
                      user_id NVARCHAR(256) COLLATE Latin1_General_100_BIN2 NOT NULL, past BIT NOT NULL);
INSERT INTO @items (i, slot, user_id, past)
SELECT j.i, j.slot, j.[user], j.past
FROM OPENJSON(@items_json) WITH (i INT '$.i', slot BIGINT '$.slot', [user] NVARCHAR(256) '$.user', past BIT '$.past') AS j;
SELECT j.i,
       CASE WHEN s.id IS NULL THEN 'slot-not-found'
            WHEN EXISTS (SELECT 1 FROM reservations AS r
                         WHERE r.slot_id = s.id AND r.user_id = j.user_id
                           AND (r.status = 'confirmed' OR r.status = 'held' AND r.expires_at > SYSDATETIMEOFFSET()))
                THEN 'already-reserved'
            WHEN j.past = 0 AND s.starts_at <= SYSDATETIMEOFFSET() THEN 'slot-started'
            WHEN s.capacity <= (SELECT COUNT(*) FROM reservations AS r
                                WHERE r.slot_id = s.id
                                  AND (r.status = 'confirmed' OR r.status = 'held' AND r.expires_at > SYSDATETIMEOFFSET()))
                THEN 'slot-full'
            ELSE '' END AS refusal
FROM @items AS j
LEFT JOIN slots AS s ON s.id = j.slot
ORDER BY j.i;
