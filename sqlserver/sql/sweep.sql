-- @limit holds. Slot by slot, ascending, each in a transaction of its own: the
-- slot first, then its rows, as everywhere. Those found by their expiry would be
-- locked row first and key of the slot's index then, the other way round than
-- cancel.sql does. A slot that someone keeps locked is left to the next sweep.
-- Also forgets what expired a day ago.
DECLARE @now DATETIMEOFFSET(6) = SYSDATETIMEOFFSET(), @freed INT = 0, @here INT, @left BIGINT = @limit, @slot BIGINT, @locked BIGINT;
DECLARE @due TABLE (slot_id BIGINT NOT NULL PRIMARY KEY);
SET LOCK_TIMEOUT 20;
-- What is locked has a writer: READPAST keeps this list from waiting for it.
INSERT INTO @due (slot_id)
SELECT slot_id FROM (SELECT TOP (CAST(@limit AS BIGINT)) slot_id FROM reservations WITH (READPAST)
                     WHERE status = 'held' AND expires_at <= @now ORDER BY expires_at) AS held
UNION
SELECT slot_id FROM (SELECT TOP (CAST(@limit AS BIGINT)) slot_id FROM reservations WITH (READPAST)
                     WHERE status = 'expired' AND expires_at < DATEADD(DAY, -1, @now) ORDER BY expires_at) AS old;
SET @slot = (SELECT MIN(slot_id) FROM @due);
WHILE @slot IS NOT NULL
BEGIN
    BEGIN TRY
        BEGIN TRANSACTION;
        SELECT @locked = id FROM slots WITH (UPDLOCK, HOLDLOCK) WHERE id = @slot;
        UPDATE TOP (@left) reservations SET status = 'expired'
        WHERE slot_id = @slot AND status = 'held' AND expires_at <= @now;
        SET @here = @@ROWCOUNT;
        DELETE TOP (CAST(@limit AS BIGINT)) FROM reservations
        WHERE slot_id = @slot AND status = 'expired' AND expires_at < DATEADD(DAY, -1, @now);
        COMMIT TRANSACTION;
        SELECT @freed = @freed + @here, @left = @left - @here;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        IF ERROR_NUMBER() NOT IN (1222, 1205)
            THROW;
    END CATCH;
    SET @slot = (SELECT MIN(slot_id) FROM @due WHERE slot_id > @slot);
END;
SELECT @freed AS freed;
