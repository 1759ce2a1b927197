SELECT TOP (CAST(@limit AS BIGINT)) CAST(s.{{.Key}} AS NVARCHAR(300)), c.live, s.{{.Capacity}}
FROM {{.Slots}} AS s
INNER JOIN (SELECT {{.Slot}} AS slot, COUNT_BIG(*) AS live FROM {{.Bookings}} WHERE {{.Slot}} IS NOT NULL{{.AndLive}} GROUP BY {{.Slot}}) AS c
    ON c.slot = s.{{.Key}}
WHERE c.live > s.{{.Capacity}}
ORDER BY s.{{.Key}};
