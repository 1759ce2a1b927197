-- ?1 slot id, ?2 starts_at, ?3 ends_at, ?4 capacity, ?5 version.
UPDATE slots SET starts_at = ?2, ends_at = ?3, capacity = ?4, version = ?5 WHERE id = ?1
