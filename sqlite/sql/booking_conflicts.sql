-- ?1 JSON array of [resource id, start, end]: the positions (from 0) that a
-- live booking or a slot takes already. Claims never overlap, so the last that
-- starts before the end tells.
SELECT k.key FROM json_each(?1) k
WHERE k.value ->> 1 < (SELECT ends_at FROM bookings
                       WHERE resource_id = k.value ->> 0 AND status IN ('held', 'confirmed') AND starts_at < k.value ->> 2
                       ORDER BY starts_at DESC LIMIT 1)
   OR k.value ->> 1 < (SELECT ends_at FROM slots
                       WHERE resource_id = k.value ->> 0 AND starts_at < k.value ->> 2
                       ORDER BY starts_at DESC LIMIT 1)
