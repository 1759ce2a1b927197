-- @id, @version (0 is whichever).
DECLARE @was BIGINT, @refusal VARCHAR(20) = '';
BEGIN TRANSACTION;
SELECT @was = version FROM slots WITH (UPDLOCK, HOLDLOCK) WHERE id = @id;
IF @was IS NULL
    SET @refusal = 'slot-not-found';
ELSE IF @version <> 0 AND @was <> @version
    SET @refusal = 'version-mismatch';
ELSE IF EXISTS (SELECT 1 FROM reservations WITH (UPDLOCK, HOLDLOCK)
                WHERE slot_id = @id
                  AND (status = 'confirmed' OR status = 'held' AND expires_at > SYSDATETIMEOFFSET()))
    SET @refusal = 'has-reservations';
ELSE
BEGIN
    DELETE FROM reservations WHERE slot_id = @id;
    DELETE FROM slots WHERE id = @id;
END;
COMMIT TRANSACTION;
SELECT @refusal AS refusal;
