SELECT o.slot::text, count(*), 0::bigint
FROM (SELECT b.{{.Slot}} AS slot, b.{{.Start}} AS starts,
             max(b.{{.End}}) OVER (PARTITION BY b.{{.Slot}} ORDER BY b.{{.Start}}, b.{{.End}}
                                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS taken_until
      FROM {{.Bookings}} AS b
      WHERE b.{{.Slot}} IS NOT NULL AND b.{{.Start}} < b.{{.End}}{{.Live "b"}}) AS o
WHERE o.taken_until > o.starts
GROUP BY o.slot
ORDER BY o.slot LIMIT $1
