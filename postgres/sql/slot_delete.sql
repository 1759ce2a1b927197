-- $1 slot id, locked.
DELETE FROM slots WHERE id = $1
