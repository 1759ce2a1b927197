-- @id, @version, and @capacity, @starts_at, @ends_at, each NULL to leave it.
-- The resource is locked before the slot; a slot keeps its resource.
DECLARE @resource_id BIGINT, @locked BIGINT, @was BIGINT, @refusal VARCHAR(20) = '',
        @old_start DATETIMEOFFSET(6), @old_end DATETIMEOFFSET(6), @now DATETIMEOFFSET(6),
        @start DATETIMEOFFSET(6) = @starts_at, @end DATETIMEOFFSET(6) = @ends_at, @places INT = @capacity;
BEGIN TRANSACTION;
SELECT @resource_id = resource_id FROM slots WHERE id = @id;
SELECT @locked = id FROM resources WITH (UPDLOCK, HOLDLOCK) WHERE id = @resource_id;
SELECT @was = version, @old_start = starts_at, @old_end = ends_at
FROM slots WITH (UPDLOCK, HOLDLOCK) WHERE id = @id;
SET @now = SYSDATETIMEOFFSET();
SELECT @start = COALESCE(@start, @old_start), @end = COALESCE(@end, @old_end);
IF @was IS NULL
    SET @refusal = 'slot-not-found';
ELSE IF @was <> @version
    SET @refusal = 'version-mismatch';
ELSE IF @start >= @end
    SET @refusal = 'range';
ELSE
BEGIN
    UPDATE reservations SET status = 'expired'
    WHERE slot_id = @id AND status = 'held' AND expires_at <= @now;
    UPDATE bookings SET status = 'expired'
    WHERE resource_id = @resource_id AND status = 'held' AND expires_at <= @now;
    UPDATE slots SET starts_at = @start, ends_at = @end, capacity = COALESCE(@places, capacity), version = version + 1
    WHERE id = @id;
END;
COMMIT TRANSACTION;
SELECT @refusal AS refusal, s.id, COALESCE(k.[key], N'') AS resource, s.starts_at, s.ends_at, s.capacity, s.version,
       (SELECT COUNT(*) FROM reservations AS r
        WHERE r.slot_id = s.id
          AND (r.status = 'confirmed' OR r.status = 'held' AND r.expires_at > SYSDATETIMEOFFSET())) AS reserved
FROM slots AS s
LEFT JOIN resources AS k ON k.id = s.resource_id
WHERE s.id = @id;
