-- As sql/cancel.sql.
DECLARE @slot BIGINT, @refusal VARCHAR(20) = '', @gone INT;
BEGIN TRANSACTION;
SELECT @slot = {{.Key}} FROM {{.Slots}} WITH (UPDLOCK, HOLDLOCK) WHERE {{.Key}} = @slot_id;
{{if .Cancelled}}UPDATE {{.Bookings}} SET {{.Status}} = {{.Cancelled}}{{else}}DELETE FROM {{.Bookings}}{{end}}
WHERE {{.Slot}} = @slot_id AND {{.User}} = @user_id{{.AndLive}};
SET @gone = @@ROWCOUNT;
IF @slot IS NULL
    SET @refusal = 'slot-not-found';
ELSE IF @gone = 0
    SET @refusal = 'not-found';
COMMIT TRANSACTION;
SELECT @refusal AS refusal;
