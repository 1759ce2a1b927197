    IF cardinality(guard.judged) = 0 THEN
        RETURN NULL;
    END IF;
    -- A snapshot from before the guard misses what no turn tells of.
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
       AND NOT EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgrelid = TG_RELID AND t.tgname = TG_NAME) THEN
        RAISE EXCEPTION 'slotkeeper/try-again: this transaction is older than the guard' USING ERRCODE = '40001';
    END IF;

    -- Ascending, the order in which every writer locks. The lock makes the next
    -- statement's snapshot the last word under READ COMMITTED. Elsewhere it sees
    -- an old one: there a turn taken since then ends this transaction with 40001.
    INSERT INTO {{.Turns}} AS t (slot)
    SELECT s.{{.Key}} FROM {{.Slots}} AS s WHERE s.{{.Key}} = ANY (guard.judged)
    ORDER BY s.{{.Key}} FOR NO KEY UPDATE OF s
    ON CONFLICT (slot) DO UPDATE SET turn = t.turn + 1;
