-- ?1 ref, ?2 resource id, ?3 starts_at, ?4 ends_at, ?5 capacity.
INSERT INTO slots (ref, resource_id, starts_at, ends_at, capacity) VALUES (?1, ?2, ?3, ?4, ?5)
RETURNING id, version
