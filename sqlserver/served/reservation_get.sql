-- As sql/reservation_get.sql.
SELECT CAST(r.{{.BookingKey}} AS BIGINT), CAST(r.{{.User}} AS NVARCHAR(256)), 'confirmed', {{.CreatedAt}}, CAST(NULL AS DATETIMEOFFSET(6))
FROM {{.Slots}} AS s
LEFT JOIN {{.Bookings}} AS r ON r.{{.Slot}} = s.{{.Key}} AND r.{{.User}} = @user_id{{.AndLiveR}}
WHERE s.{{.Key}} = @slot_id;
