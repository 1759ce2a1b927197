-- $1, $2, $3 resource ids, starts and ends, pairwise, the resources locked:
-- the positions (from 0) that a live booking or a slot takes already.
SELECT k.ord - 1
FROM unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[]) WITH ORDINALITY AS k (resource_id, starts_at, ends_at, ord)
WHERE EXISTS (SELECT FROM bookings b
              WHERE b.resource_id = k.resource_id AND b.status IN ('held', 'confirmed')
                AND tstzrange(b.starts_at, b.ends_at, '[)') && tstzrange(k.starts_at, k.ends_at, '[)'))
   OR EXISTS (SELECT FROM slots s
              WHERE s.resource_id = k.resource_id
                AND tstzrange(s.starts_at, s.ends_at, '[)') && tstzrange(k.starts_at, k.ends_at, '[)'))
