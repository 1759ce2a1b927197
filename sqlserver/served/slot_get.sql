-- @id.
SELECT CAST(s.{{.Key}} AS BIGINT), N'', {{.Start}}, {{.End}}, CAST(s.{{.Capacity}} AS INT), CAST(1 AS BIGINT),
       (SELECT COUNT(*) FROM {{.Bookings}} WHERE {{.Slot}} = s.{{.Key}}{{.AndLive}})
FROM {{.Slots}} AS s
WHERE s.{{.Key}} = @id;
