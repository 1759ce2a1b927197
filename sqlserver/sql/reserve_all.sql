-- @items_json: [{"i","slot","user","hold","past","at"}…], each slot once: all or none.
-- A row of the answer for each item; where one has a refusal, nothing was written.
-- Each slot has its own INSERT, ascending. With one for all the trigger would
-- count a slot while later slots have new rows already; its range ends at a key
-- of the next slot, and another writer's range there at one of those rows: a
-- deadlock. For the same reason holds are freed slot by slot. See docs/lock-model.md.
DECLARE @items TABLE (i INT NOT NULL, slot_id BIGINT NOT NULL PRIMARY KEY,
                      user_id NVARCHAR(256) COLLATE Latin1_General_100_BIN2 NOT NULL, hold INT NOT NULL,
                      past BIT NOT NULL, created_at DATETIMEOFFSET(6) NULL, starts_at DATETIMEOFFSET(6) NULL,
                      refusal VARCHAR(20) NOT NULL, id BIGINT NOT NULL, expires_at DATETIMEOFFSET(6) NULL);
DECLARE @slot BIGINT, @starts_at DATETIMEOFFSET(6), @now DATETIMEOFFSET(6);
INSERT INTO @items (i, slot_id, user_id, hold, past, created_at, refusal, id)
SELECT j.i, j.slot, j.[user], j.hold, j.past, j.[at], '', 0
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
UPDATE @items SET created_at = COALESCE(created_at, @now),
                  expires_at = CASE WHEN hold > 0 THEN DATEADD(SECOND, hold, @now) END;
UPDATE x SET refusal =
    CASE WHEN x.starts_at IS NULL THEN 'slot-not-found'
         WHEN EXISTS (SELECT 1 FROM reservations AS r
                      WHERE r.slot_id = x.slot_id AND r.user_id = x.user_id
                        AND (r.status = 'confirmed' OR r.status = 'held' AND r.expires_at > @now)) THEN 'already-reserved'
         WHEN x.past = 0 AND x.starts_at <= @now THEN 'slot-started'
         ELSE '' END
FROM @items AS x;
IF NOT EXISTS (SELECT 1 FROM @items WHERE refusal <> '')
    SET @slot = (SELECT MIN(slot_id) FROM @items);
WHILE @slot IS NOT NULL
BEGIN
    UPDATE reservations SET status = 'expired'
    WHERE slot_id = @slot AND status = 'held' AND expires_at <= @now;
    INSERT INTO reservations (slot_id, user_id, status, created_at, expires_at)
    SELECT slot_id, user_id, CASE WHEN hold > 0 THEN 'held' ELSE 'confirmed' END, created_at, expires_at
    FROM @items WHERE slot_id = @slot;
    UPDATE @items SET id = SCOPE_IDENTITY() WHERE slot_id = @slot;
    SET @slot = (SELECT MIN(slot_id) FROM @items WHERE slot_id > @slot);
END;
COMMIT TRANSACTION;
SELECT i, refusal, id, created_at, expires_at FROM @items ORDER BY i;
