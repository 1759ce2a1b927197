-- @items_json: [{"i","key","kind","user","from","to","hold"}…], all or none;
-- @nights: keep one row a night as well. A row of the answer for each item with
-- what is known of its resource and whether that one is taken; where an item
-- cannot be, nothing was written (id is 0).
-- What OPENJSON gives has the database's collation, and @items the column's.
DECLARE @items TABLE (i INT NOT NULL PRIMARY KEY, [key] NVARCHAR(256) COLLATE Latin1_General_100_BIN2 NOT NULL,
                      resource_id BIGINT NULL, kind VARCHAR(5) NULL, wanted VARCHAR(5) NOT NULL, user_id NVARCHAR(256) NOT NULL,
                      starts_at DATETIMEOFFSET(6) NOT NULL, ends_at DATETIMEOFFSET(6) NOT NULL, hold INT NOT NULL, busy BIT NOT NULL);
DECLARE @resource BIGINT, @locked BIGINT, @now DATETIMEOFFSET(6);
INSERT INTO @items (i, [key], wanted, user_id, starts_at, ends_at, hold, busy)
SELECT j.i, j.[key], j.kind, j.[user], j.[from], j.[to], j.hold, 0
FROM OPENJSON(@items_json) WITH (i INT '$.i', [key] NVARCHAR(256) '$.key', kind VARCHAR(5) '$.kind',
                                 [user] NVARCHAR(256) '$.user', [from] DATETIMEOFFSET(6) '$.from',
                                 [to] DATETIMEOFFSET(6) '$.to', hold INT '$.hold') AS j;
UPDATE x SET resource_id = k.id, kind = k.kind
FROM @items AS x
INNER JOIN resources AS k ON k.[key] = x.[key];
BEGIN TRANSACTION;
SET @resource = (SELECT MIN(resource_id) FROM @items);
WHILE @resource IS NOT NULL
BEGIN
    SELECT @locked = id FROM resources WITH (UPDLOCK, HOLDLOCK) WHERE id = @resource;
    SET @resource = (SELECT MIN(resource_id) FROM @items WHERE resource_id > @resource);
END;
SET @now = SYSDATETIMEOFFSET();
UPDATE nights SET is_active = 0
WHERE is_active = 1 AND booking_id IN (SELECT b.id FROM bookings AS b INNER JOIN @items AS x ON x.resource_id = b.resource_id
                                       WHERE b.status = 'held' AND b.expires_at <= @now);
UPDATE bookings SET status = 'expired'
WHERE resource_id IN (SELECT resource_id FROM @items) AND status = 'held' AND expires_at <= @now;
UPDATE x SET busy = 1
FROM @items AS x
WHERE EXISTS (SELECT 1 FROM bookings AS b WITH (UPDLOCK, HOLDLOCK)
              WHERE b.resource_id = x.resource_id AND b.ends_at > x.starts_at AND b.starts_at < x.ends_at
                AND b.status IN ('held', 'confirmed'))
   OR EXISTS (SELECT 1 FROM slots AS s WITH (UPDLOCK, HOLDLOCK)
              WHERE s.resource_id = x.resource_id AND s.ends_at > x.starts_at AND s.starts_at < x.ends_at)
   OR EXISTS (SELECT 1 FROM @items AS y
              WHERE y.resource_id = x.resource_id AND y.i < x.i AND y.ends_at > x.starts_at AND y.starts_at < x.ends_at);
IF NOT EXISTS (SELECT 1 FROM @items WHERE busy = 1 OR resource_id IS NULL OR wanted <> '' AND wanted <> kind)
BEGIN
    IF @nights = 1
        INSERT INTO nights (resource_id, night)
        SELECT x.resource_id, DATEADD(DAY, n.n, CAST(SWITCHOFFSET(x.starts_at, '+00:00') AS DATE))
        FROM @items AS x
        INNER JOIN (SELECT ROW_NUMBER() OVER (ORDER BY a.d, b.d, c.d, e.d) - 1 AS n
                    FROM (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS a (d)
                    CROSS JOIN (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS b (d)
                    CROSS JOIN (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS c (d)
                    CROSS JOIN (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS e (d)) AS n
            ON n.n < DATEDIFF(DAY, x.starts_at, x.ends_at);
    INSERT INTO bookings (place_id, thing_id, user_id, starts_at, ends_at, status, created_at, expires_at)
    SELECT CASE WHEN kind = 'place' THEN resource_id END, CASE WHEN kind = 'thing' THEN resource_id END, user_id,
           starts_at, ends_at, CASE WHEN hold > 0 THEN 'held' ELSE 'confirmed' END, @now,
           CASE WHEN hold > 0 THEN DATEADD(SECOND, hold, @now) END
    FROM @items;
    IF @nights = 1
        UPDATE n SET booking_id = b.id
        FROM nights AS n
        INNER JOIN bookings AS b ON b.resource_id = n.resource_id AND b.status IN ('held', 'confirmed')
        INNER JOIN @items AS x ON x.resource_id = b.resource_id AND x.starts_at = b.starts_at
        WHERE n.booking_id IS NULL AND n.is_active = 1
          AND n.night >= CAST(SWITCHOFFSET(x.starts_at, '+00:00') AS DATE)
          AND n.night < CAST(SWITCHOFFSET(x.ends_at, '+00:00') AS DATE);
END;
-- Of a resource's live bookings one at most has this start.
SELECT x.i, COALESCE(x.resource_id, 0) AS resource_id, COALESCE(x.kind, '') AS kind, x.busy, COALESCE(b.id, 0) AS id, b.created_at, b.expires_at
FROM @items AS x
LEFT JOIN bookings AS b ON b.resource_id = x.resource_id AND b.starts_at = x.starts_at AND b.status IN ('held', 'confirmed') AND x.busy = 0
ORDER BY x.i;
COMMIT TRANSACTION;
