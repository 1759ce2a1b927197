-- @limit holds. As sweep.sql: the resource first, then its bookings and nights.
DECLARE @now DATETIMEOFFSET(6) = SYSDATETIMEOFFSET(), @freed INT = 0, @here INT, @left BIGINT = @limit, @resource BIGINT, @locked BIGINT;
DECLARE @due TABLE (resource_id BIGINT NOT NULL PRIMARY KEY);
SET LOCK_TIMEOUT 20;
INSERT INTO @due (resource_id)
SELECT resource_id FROM (SELECT TOP (CAST(@limit AS BIGINT)) resource_id FROM bookings WITH (READPAST)
                         WHERE status = 'held' AND expires_at <= @now ORDER BY expires_at) AS held
UNION
SELECT resource_id FROM (SELECT TOP (CAST(@limit AS BIGINT)) resource_id FROM bookings WITH (READPAST)
                         WHERE status = 'expired' AND expires_at < DATEADD(DAY, -1, @now) ORDER BY expires_at) AS old;
SET @resource = (SELECT MIN(resource_id) FROM @due);
WHILE @resource IS NOT NULL
BEGIN
    BEGIN TRY
        BEGIN TRANSACTION;
        SELECT @locked = id FROM resources WITH (UPDLOCK, HOLDLOCK) WHERE id = @resource;
        UPDATE TOP (@left) bookings SET status = 'expired'
        WHERE resource_id = @resource AND status = 'held' AND expires_at <= @now;
        SET @here = @@ROWCOUNT;
        UPDATE nights SET is_active = 0
        WHERE is_active = 1 AND booking_id IN (SELECT id FROM bookings WHERE resource_id = @resource AND status = 'expired');
        DELETE TOP (CAST(@limit AS BIGINT)) FROM bookings
        WHERE resource_id = @resource AND status = 'expired' AND expires_at < DATEADD(DAY, -1, @now);
        COMMIT TRANSACTION;
        SELECT @freed = @freed + @here, @left = @left - @here;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        IF ERROR_NUMBER() NOT IN (1222, 1205)
            THROW;
    END CATCH;
    SET @resource = (SELECT MIN(resource_id) FROM @due WHERE resource_id > @resource);
END;
SELECT @freed AS freed;
