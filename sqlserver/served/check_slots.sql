-- As sql/check_slots.sql.
SELECT CAST(s.{{.Key}} AS BIGINT), CAST(s.{{.Capacity}} AS INT), c.live
FROM {{.Slots}} AS s
INNER JOIN (SELECT {{.Slot}} AS slot, COUNT(*) AS live FROM {{.Bookings}} WHERE {{.Slot}} IS NOT NULL{{.AndLive}} GROUP BY {{.Slot}}) AS c
    ON c.slot = s.{{.Key}}
WHERE c.live > s.{{.Capacity}}
ORDER BY s.{{.Key}};
