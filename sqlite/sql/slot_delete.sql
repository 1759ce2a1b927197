-- ?1 slot id.
DELETE FROM slots WHERE id = ?1
