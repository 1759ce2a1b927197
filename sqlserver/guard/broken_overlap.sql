SELECT TOP (CAST(@limit AS BIGINT)) CAST(o.slot AS NVARCHAR(300)), COUNT_BIG(*), CAST(0 AS BIGINT)
FROM (SELECT {{.Slot}} AS slot, {{.Start}} AS starts,
             MAX({{.End}}) OVER (PARTITION BY {{.Slot}} ORDER BY {{.Start}}, {{.End}}
                                 ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS taken_until
      FROM {{.Bookings}}
      WHERE {{.Slot}} IS NOT NULL AND {{.Start}} < {{.End}}{{.AndLive}}) AS o
WHERE o.taken_until > o.starts
GROUP BY o.slot
ORDER BY o.slot;
