-- As sql/confirm.sql: what is there is confirmed.
DECLARE @slot BIGINT, @refusal VARCHAR(20) = '', @id BIGINT, @created_at DATETIMEOFFSET(6);
SELECT @slot = {{.Key}} FROM {{.Slots}} WHERE {{.Key}} = @slot_id;
SELECT @id = r.{{.BookingKey}}, @created_at = {{.CreatedAt}} FROM {{.Bookings}} AS r
WHERE r.{{.Slot}} = @slot_id AND r.{{.User}} = @user_id{{.AndLiveR}};
IF @slot IS NULL
    SET @refusal = 'slot-not-found';
ELSE IF @id IS NULL
    SET @refusal = 'not-found';
SELECT @refusal AS refusal, COALESCE(@id, 0) AS id, @created_at AS created_at;
