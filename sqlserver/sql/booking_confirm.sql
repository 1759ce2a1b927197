-- @id. The resource first, then the booking: the order of book.sql. The answer
-- is read before the COMMIT, as in slot_edit.sql.
DECLARE @resource BIGINT, @key NVARCHAR(256), @kind VARCHAR(5), @refusal VARCHAR(20) = '', @status VARCHAR(9), @user NVARCHAR(256),
        @start DATETIMEOFFSET(6), @end DATETIMEOFFSET(6), @created DATETIMEOFFSET(6), @expires DATETIMEOFFSET(6);
BEGIN TRANSACTION;
SELECT @resource = resource_id FROM bookings WHERE id = @id;
SELECT @key = [key], @kind = kind FROM resources WITH (UPDLOCK, HOLDLOCK) WHERE id = @resource;
UPDATE bookings SET status = 'confirmed', expires_at = NULL
WHERE id = @id AND status = 'held' AND expires_at > SYSDATETIMEOFFSET();
SELECT @status = status, @user = user_id, @start = starts_at, @end = ends_at, @created = created_at, @expires = expires_at
FROM bookings WHERE id = @id;
IF @status IN ('held', 'expired')
    SET @refusal = 'hold-expired';
ELSE IF @status IS NULL OR @status <> 'confirmed'
    SET @refusal = 'not-found';
COMMIT TRANSACTION;
SELECT @refusal AS refusal, CASE WHEN @status IS NOT NULL THEN @id END AS id, @key AS [key], @kind AS kind, @user AS user_id,
       @start AS starts_at, @end AS ends_at, @status AS status, @created AS created_at, @expires AS expires_at;
