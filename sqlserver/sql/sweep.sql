-- @limit of each kind. READPAST leaves a row that someone works on to them, so
-- that a sweep waits for no one; only rows whose time is over are touched, and
-- no one else gives those another meaning. Then forgets what expired a day ago.
DECLARE @now DATETIMEOFFSET(6) = SYSDATETIMEOFFSET(), @freed INT = 0;
BEGIN TRANSACTION;
UPDATE TOP (CAST(@limit AS BIGINT)) reservations WITH (READPAST) SET status = 'expired'
WHERE status = 'held' AND expires_at <= @now;
SET @freed = @@ROWCOUNT;
COMMIT TRANSACTION;
BEGIN TRANSACTION;
UPDATE TOP (CAST(@limit AS BIGINT)) bookings WITH (READPAST) SET status = 'expired'
WHERE status = 'held' AND expires_at <= @now;
SET @freed = @freed + @@ROWCOUNT;
UPDATE nights SET is_active = 0
WHERE is_active = 1 AND booking_id IN (SELECT id FROM bookings WHERE status = 'expired');
COMMIT TRANSACTION;
BEGIN TRANSACTION;
DELETE TOP (CAST(@limit AS BIGINT)) FROM reservations WITH (READPAST)
WHERE status = 'expired' AND expires_at < DATEADD(DAY, -1, @now);
COMMIT TRANSACTION;
BEGIN TRANSACTION;
DELETE TOP (CAST(@limit AS BIGINT)) FROM bookings WITH (READPAST)
WHERE status = 'expired' AND expires_at < DATEADD(DAY, -1, @now);
COMMIT TRANSACTION;
SELECT @freed AS freed;
