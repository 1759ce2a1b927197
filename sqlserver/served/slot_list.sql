-- As sql/slot_list.sql; these slots have no resource.
SELECT TOP (CAST(@limit AS BIGINT)) listed.id, N'', listed.starts_at, listed.ends_at, listed.capacity, CAST(1 AS BIGINT), listed.reserved
FROM (SELECT CAST(s.{{.Key}} AS BIGINT) AS id, {{.Start}} AS starts_at, {{.End}} AS ends_at, CAST(s.{{.Capacity}} AS INT) AS capacity,
             (SELECT COUNT(*) FROM {{.Bookings}} WHERE {{.Slot}} = s.{{.Key}}{{.AndLive}}) AS reserved
      FROM {{.Slots}} AS s
      WHERE s.{{.RawStart}} >= {{.From}} AND s.{{.RawStart}} < {{.To}} AND @resource = N'') AS listed
WHERE (@available = 0 OR listed.reserved < listed.capacity)
  AND (@minimum = 0 OR DATEDIFF_BIG(MICROSECOND, listed.starts_at, listed.ends_at) >= @minimum)
  AND (listed.starts_at > CAST(@after_start AS DATETIMEOFFSET(6))
       OR listed.starts_at = CAST(@after_start AS DATETIMEOFFSET(6)) AND listed.id > @after_id)
ORDER BY listed.starts_at, listed.id;
