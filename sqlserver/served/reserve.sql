-- As sql/reserve.sql, without holds.
DECLARE @starts_at DATETIMEOFFSET(6), @now DATETIMEOFFSET(6), @id BIGINT, @refusal VARCHAR(20) = '',
        @at DATETIMEOFFSET(6) = @created_at;
BEGIN TRANSACTION;
SELECT @starts_at = {{.Start}} FROM {{.Slots}} AS s WITH (UPDLOCK, HOLDLOCK) WHERE s.{{.Key}} = @slot_id;
SET @now = SYSDATETIMEOFFSET();
SET @at = COALESCE(@at, @now);
IF @starts_at IS NULL
    SET @refusal = 'slot-not-found';
ELSE IF EXISTS (SELECT 1 FROM {{.Bookings}} WITH (UPDLOCK, HOLDLOCK)
                WHERE {{.Slot}} = @slot_id AND {{.User}} = @user_id{{.AndLive}})
    SET @refusal = 'already-reserved';
ELSE IF @allow_past = 0 AND @starts_at <= @now
    SET @refusal = 'slot-started';
ELSE
BEGIN
    INSERT INTO {{.Bookings}} ({{.Slot}}, {{.User}}{{if .Status}}, {{.Status}}{{end}})
    VALUES (@slot_id, @user_id{{if .Status}}, {{.FirstLive}}{{end}});
    SET @id = SCOPE_IDENTITY();
END;
COMMIT TRANSACTION;
SELECT @refusal AS refusal, COALESCE(@id, 0) AS id, @at AS created_at, CAST(NULL AS DATETIMEOFFSET(6)) AS expires_at;
