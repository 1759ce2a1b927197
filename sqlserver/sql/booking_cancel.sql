-- @id. The resource first, then the booking; its nights go with it.
DECLARE @resource BIGINT, @locked BIGINT, @gone INT;
BEGIN TRANSACTION;
SELECT @resource = resource_id FROM bookings WHERE id = @id;
SELECT @locked = id FROM resources WITH (UPDLOCK, HOLDLOCK) WHERE id = @resource;
DELETE FROM bookings
WHERE id = @id AND (status = 'confirmed' OR status = 'held' AND expires_at > SYSDATETIMEOFFSET());
SET @gone = @@ROWCOUNT;
COMMIT TRANSACTION;
SELECT CASE WHEN @gone = 0 THEN 'not-found' ELSE '' END AS refusal;
