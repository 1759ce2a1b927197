-- @ref ('' is none), @resource (key, '' is none), @starts_at, @ends_at, @capacity.
-- The resource is locked before its slot is written, as everywhere.
DECLARE @id BIGINT, @created BIT = 0, @resource_id BIGINT, @locked BIGINT;
BEGIN TRANSACTION;
IF @ref <> N''
    SELECT @id = id FROM slots WHERE ref = @ref;
IF @id IS NULL
BEGIN
    IF @resource <> N''
    BEGIN
        SELECT @resource_id = id FROM resources WHERE [key] = @resource;
        IF @resource_id IS NULL
        BEGIN
            INSERT INTO resources ([key], name, kind) VALUES (@resource, @resource, 'place');
            SET @resource_id = SCOPE_IDENTITY();
        END;
        SELECT @locked = id FROM resources WITH (UPDLOCK, HOLDLOCK) WHERE id = @resource_id;
        UPDATE bookings SET status = 'expired'
        WHERE resource_id = @resource_id AND status = 'held' AND expires_at <= SYSDATETIMEOFFSET();
        UPDATE nights SET is_active = 0
        WHERE is_active = 1 AND booking_id IN (SELECT id FROM bookings WHERE resource_id = @resource_id AND status = 'expired');
    END;
    INSERT INTO slots (ref, resource_id, starts_at, ends_at, capacity)
    VALUES (NULLIF(@ref, N''), @resource_id, @starts_at, @ends_at, @capacity);
    SELECT @id = SCOPE_IDENTITY(), @created = 1;
END;
COMMIT TRANSACTION;
SELECT @id AS id, @created AS created;
