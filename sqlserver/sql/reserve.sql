-- @slot_id, @user_id, @hold seconds (0 reserves at once), @allow_past, @created_at
-- (NULL is now). The trigger judges capacity; who is here already is told so first.
DECLARE @starts_at DATETIMEOFFSET(6), @now DATETIMEOFFSET(6), @id BIGINT, @refusal VARCHAR(20) = '',
        @at DATETIMEOFFSET(6) = @created_at, @until DATETIMEOFFSET(6);
BEGIN TRANSACTION;
SELECT @starts_at = starts_at FROM slots WITH (UPDLOCK, HOLDLOCK) WHERE id = @slot_id;
SET @now = SYSDATETIMEOFFSET();
SET @at = COALESCE(@at, @now);
IF @hold > 0
    SET @until = DATEADD(SECOND, @hold, @now);
UPDATE reservations SET status = 'expired'
WHERE slot_id = @slot_id AND status = 'held' AND expires_at <= @now;
IF @starts_at IS NULL
    SET @refusal = 'slot-not-found';
ELSE IF EXISTS (SELECT 1 FROM reservations
                WHERE slot_id = @slot_id AND user_id = @user_id AND status IN ('held', 'confirmed'))
    SET @refusal = 'already-reserved';
ELSE IF @allow_past = 0 AND @starts_at <= @now
    SET @refusal = 'slot-started';
ELSE
BEGIN
    INSERT INTO reservations (slot_id, user_id, status, created_at, expires_at)
    VALUES (@slot_id, @user_id, CASE WHEN @until IS NULL THEN 'confirmed' ELSE 'held' END, @at, @until);
    SET @id = SCOPE_IDENTITY();
END;
COMMIT TRANSACTION;
SELECT @refusal AS refusal, COALESCE(@id, 0) AS id, @at AS created_at, @until AS expires_at;
