-- Made by slotkeeper guard; change it there, not here.
<<guard>>
DECLARE
    judged {{.KeyType}}[];
    refused record;
BEGIN
    -- The slots that have more live rows than before this statement.
    IF TG_OP = 'INSERT' THEN
        judged := ARRAY(SELECT DISTINCT n.{{.Slot}} FROM new_rows AS n WHERE n.{{.Slot}} IS NOT NULL{{.Live "n"}});
    ELSE
        judged := ARRAY(
            SELECT moved.slot
            FROM (SELECT n.{{.Slot}} AS slot, 1 AS more FROM new_rows AS n WHERE n.{{.Slot}} IS NOT NULL{{.Live "n"}}
                  UNION ALL
                  SELECT o.{{.Slot}}, -1 FROM old_rows AS o WHERE o.{{.Slot}} IS NOT NULL{{.Live "o"}}) AS moved
            GROUP BY moved.slot
            HAVING sum(moved.more) > 0);
    END IF;
{{template "turn.sql" .}}
    SELECT s.{{.Key}} AS slot, s.{{.Capacity}} AS capacity INTO refused
    FROM {{.Slots}} AS s
    WHERE s.{{.Key}} = ANY (guard.judged)
      AND s.{{.Capacity}} < (SELECT count(*) FROM {{.Bookings}} AS b WHERE b.{{.Slot}} = s.{{.Key}}{{.Live "b"}})
    ORDER BY s.{{.Key}} LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'slotkeeper/slot-full: slot % has capacity %', refused.slot, refused.capacity
            USING ERRCODE = '23514', CONSTRAINT = 'slotkeeper_slot_full';
    END IF;
    RETURN NULL;
END;
