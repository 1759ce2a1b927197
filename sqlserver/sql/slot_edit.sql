-- @id, @version, and @capacity, @starts_at, @ends_at, each NULL to leave it.
-- The resource is locked before the slot; a slot keeps its resource. The answer
-- is read before the COMMIT: a wait given up behind it would undo nothing, and
-- the retry would be told that the version is another.
DECLARE @resource_id BIGINT, @locked BIGINT, @was BIGINT, @refusal VARCHAR(20) = '', @now DATETIMEOFFSET(6),
        @old_start DATETIMEOFFSET(6), @old_end DATETIMEOFFSET(6), @old_places INT, @key NVARCHAR(256) = N'', @reserved INT,
        @start DATETIMEOFFSET(6) = @starts_at, @end DATETIMEOFFSET(6) = @ends_at, @places INT = @capacity;
BEGIN TRANSACTION;
SELECT @resource_id = resource_id FROM slots WHERE id = @id;
SELECT @locked = id, @key = [key] FROM resources WITH (UPDLOCK, HOLDLOCK) WHERE id = @resource_id;
SELECT @was = version, @old_start = starts_at, @old_end = ends_at, @old_places = capacity
FROM slots WITH (UPDLOCK, HOLDLOCK) WHERE id = @id;
SET @now = SYSDATETIMEOFFSET();
SELECT @start = COALESCE(@start, @old_start), @end = COALESCE(@end, @old_end), @places = COALESCE(@places, @old_places);
IF @was IS NULL
    SET @refusal = 'slot-not-found';
ELSE IF @was <> @version
    SET @refusal = 'version-mismatch';
ELSE IF @start >= @end
    SELECT @refusal = 'range', @start = @old_start, @end = @old_end;
ELSE
BEGIN
    UPDATE reservations SET status = 'expired'
    WHERE slot_id = @id AND status = 'held' AND expires_at <= @now;
    UPDATE bookings SET status = 'expired'
    WHERE resource_id = @resource_id AND status = 'held' AND expires_at <= @now;
    UPDATE nights SET is_active = 0
    WHERE is_active = 1 AND booking_id IN (SELECT id FROM bookings WHERE resource_id = @resource_id AND status = 'expired');
    UPDATE slots SET starts_at = @start, ends_at = @end, capacity = @places, version = version + 1
    WHERE id = @id;
    SELECT @reserved = COUNT(*) FROM reservations WHERE slot_id = @id AND status IN ('held', 'confirmed');
END;
COMMIT TRANSACTION;
SELECT @refusal AS refusal, @id AS id, @key AS resource, @start AS starts_at, @end AS ends_at, @places AS capacity,
       @was + 1 AS version, COALESCE(@reserved, 0) AS reserved
WHERE @was IS NOT NULL;
