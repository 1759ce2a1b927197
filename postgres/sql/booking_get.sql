-- $1 booking id, whatever its state.
SELECT b.id, k.key, k.kind, b.user_id, b.starts_at, b.ends_at, b.status, b.created_at, b.expires_at,
       b.status = 'expired' OR b.status = 'held' AND b.expires_at <= clock_timestamp()
FROM bookings b JOIN resources k ON k.id = b.resource_id
WHERE b.id = $1
