-- $1 slot ids. As lock_slots, but leaves out those that another transaction has locked.
SELECT id FROM slots WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
