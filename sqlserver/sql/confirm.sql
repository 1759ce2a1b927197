-- @slot_id, @user_id.
DECLARE @slot BIGINT, @now DATETIMEOFFSET(6), @refusal VARCHAR(20) = '', @id BIGINT, @created_at DATETIMEOFFSET(6);
BEGIN TRANSACTION;
SELECT @slot = id FROM slots WITH (UPDLOCK, HOLDLOCK) WHERE id = @slot_id;
SET @now = SYSDATETIMEOFFSET();
UPDATE reservations SET status = 'confirmed', expires_at = NULL
WHERE slot_id = @slot AND user_id = @user_id AND status = 'held' AND expires_at > @now;
SELECT @id = id, @created_at = created_at FROM reservations
WHERE slot_id = @slot AND user_id = @user_id AND status = 'confirmed';
IF @slot IS NULL
    SET @refusal = 'slot-not-found';
ELSE IF @id IS NULL AND EXISTS (SELECT 1 FROM reservations
                                WHERE slot_id = @slot AND user_id = @user_id AND status IN ('held', 'expired'))
    SET @refusal = 'hold-expired';
ELSE IF @id IS NULL
    SET @refusal = 'not-found';
COMMIT TRANSACTION;
SELECT @refusal AS refusal, COALESCE(@id, 0) AS id, @created_at AS created_at;
