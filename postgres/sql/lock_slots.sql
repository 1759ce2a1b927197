-- $1 slot ids. Waits; ascending, so that two transactions never wait for each other.
-- Nothing is decided here: after a wait only the next statement sees what was committed.
SELECT id FROM slots WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE
