-- ?1 slot id, its expired holds marked. As the counter has it: what has expired
-- since counts still, for the CHECK and so for who changes the slot.
SELECT s.id, coalesce(k.key, ''), s.starts_at, s.ends_at, s.capacity, s.version, s.reserved
FROM slots s LEFT JOIN resources k ON k.id = s.resource_id
WHERE s.id = ?1
