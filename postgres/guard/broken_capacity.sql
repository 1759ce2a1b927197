SELECT s.{{.Key}}::text, c.live, s.{{.Capacity}}::bigint
FROM {{.Slots}} AS s
JOIN (SELECT b.{{.Slot}} AS slot, count(*) AS live FROM {{.Bookings}} AS b WHERE b.{{.Slot}} IS NOT NULL{{.Live "b"}} GROUP BY b.{{.Slot}}) AS c
    ON c.slot = s.{{.Key}}
WHERE c.live > s.{{.Capacity}}
ORDER BY s.{{.Key}} LIMIT $1
