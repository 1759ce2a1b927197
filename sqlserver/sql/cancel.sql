-- @slot_id, @user_id. The slot first, then the reservation: the order of reserve.sql.
DECLARE @slot BIGINT, @refusal VARCHAR(20) = '', @gone INT;
BEGIN TRANSACTION;
SELECT @slot = id FROM slots WITH (UPDLOCK, HOLDLOCK) WHERE id = @slot_id;
DELETE FROM reservations
WHERE slot_id = @slot AND user_id = @user_id
  AND (status = 'confirmed' OR status = 'held' AND expires_at > SYSDATETIMEOFFSET());
SET @gone = @@ROWCOUNT;
IF @slot IS NULL
    SET @refusal = 'slot-not-found';
ELSE IF @gone = 0
    SET @refusal = 'not-found';
COMMIT TRANSACTION;
SELECT @refusal AS refusal;
