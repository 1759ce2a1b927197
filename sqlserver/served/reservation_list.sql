-- As sql/reservation_list.sql.
SELECT TOP (CAST(@limit AS BIGINT)) CAST(r.{{.BookingKey}} AS BIGINT), CAST(r.{{.User}} AS NVARCHAR(256)), 'confirmed', {{.CreatedAt}},
       CAST(NULL AS DATETIMEOFFSET(6))
FROM {{.Slots}} AS s
LEFT JOIN {{.Bookings}} AS r ON r.{{.Slot}} = s.{{.Key}} AND r.{{.BookingKey}} > @after{{.AndLiveR}}
WHERE s.{{.Key}} = @slot_id
ORDER BY r.{{.BookingKey}};
