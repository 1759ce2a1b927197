-- @items_json: [{"i","slot","user","hold","past","at"}…], each slot once: all or none.
-- A row of the answer for each item; where one has a refusal, nothing was written.
DECLARE @items TABLE (i INT NOT NULL, slot_id BIGINT NOT NULL PRIMARY KEY,
                      user_id NVARCHAR(256) COLLATE Latin1_General_100_BIN2 NOT NULL, hold INT NOT NULL,
                      past BIT NOT NULL, created_at DATETIMEOFFSET(6) NULL, starts_at DATETIMEOFFSET(6) NULL,
                      refusal VARCHAR(20) NOT NULL);
DECLARE @slot BIGINT, @starts_at DATETIMEOFFSET(6), @now DATETIMEOFFSET(6);
INSERT INTO @items (i, slot_id, user_id, hold, past, created_at, refusal)
SELECT j.i, j.slot, j.[user], j.hold, j.past, j.[at], ''
FROM OPENJSON(@items_json) WITH (i INT '$.i', slot BIGINT '$.slot', [user] NVARCHAR(256) '$.user', hold INT '$.hold',
                                 past BIT '$.past', [at] DATETIMEOFFSET(6) '$.at') AS j;
BEGIN TRANSACTION;
SET @slot = (SELECT MIN(slot_id) FROM @items);
WHILE @slot IS NOT NULL
BEGIN
    SET @starts_at = NULL;
    SELECT @starts_at = starts_at FROM slots WITH (UPDLOCK, HOLDLOCK) WHERE id = @slot;
    UPDATE @items SET starts_at = @starts_at WHERE slot_id = @slot;
    SET @slot = (SELECT MIN(slot_id) FROM @items WHERE slot_id > @slot);
END;
SET @now = SYSDATETIMEOFFSET();
UPDATE reservations SET status = 'expired'
WHERE slot_id IN (SELECT slot_id FROM @items) AND status = 'held' AND expires_at <= @now;
UPDATE x SET refusal =
    CASE WHEN x.starts_at IS NULL THEN 'slot-not-found'
         WHEN EXISTS (SELECT 1 FROM reservations AS r
                      WHERE r.slot_id = x.slot_id AND r.user_id = x.user_id
                        AND r.status IN ('held', 'confirmed')) THEN 'already-reserved'
         WHEN x.past = 0 AND x.starts_at <= @now THEN 'slot-started'
         ELSE '' END
FROM @items AS x;
IF NOT EXISTS (SELECT 1 FROM @items WHERE refusal <> '')
    INSERT INTO reservations (slot_id, user_id, status, created_at, expires_at)
    SELECT slot_id, user_id, CASE WHEN hold > 0 THEN 'held' ELSE 'confirmed' END, COALESCE(created_at, @now),
           CASE WHEN hold > 0 THEN DATEADD(SECOND, hold, @now) END
    FROM @items;
-- The ids by the key that is unique among live rows.
SELECT x.i, x.refusal, COALESCE(r.id, 0) AS id, r.created_at, r.expires_at
FROM @items AS x
LEFT JOIN reservations AS r ON r.slot_id = x.slot_id AND r.user_id = x.user_id AND r.status IN ('held', 'confirmed')
ORDER BY x.i;
COMMIT TRANSACTION;
