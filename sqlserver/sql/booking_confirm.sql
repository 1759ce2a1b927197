-- @id. The resource first, then the booking: the order of book.sql.
DECLARE @resource BIGINT, @locked BIGINT, @refusal VARCHAR(20) = '', @status VARCHAR(9);
BEGIN TRANSACTION;
SELECT @resource = resource_id FROM bookings WHERE id = @id;
SELECT @locked = id FROM resources WITH (UPDLOCK, HOLDLOCK) WHERE id = @resource;
UPDATE bookings SET status = 'confirmed', expires_at = NULL
WHERE id = @id AND status = 'held' AND expires_at > SYSDATETIMEOFFSET();
SELECT @status = status FROM bookings WHERE id = @id;
IF @status IN ('held', 'expired')
    SET @refusal = 'hold-expired';
ELSE IF @status IS NULL OR @status <> 'confirmed'
    SET @refusal = 'not-found';
COMMIT TRANSACTION;
SELECT @refusal AS refusal, b.id, k.[key], k.kind, b.user_id, b.starts_at, b.ends_at, b.status, b.created_at, b.expires_at
FROM (SELECT 1 AS one) AS always
LEFT JOIN bookings AS b ON b.id = @id
LEFT JOIN resources AS k ON k.id = b.resource_id;
