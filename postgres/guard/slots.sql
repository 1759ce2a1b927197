-- Made by slotkeeper guard; change it there, not here.
<<guard>>
DECLARE
    judged {{.KeyType}}[];
    refused record;
BEGIN
    -- The slots whose capacity is lower than before this statement.
    judged := ARRAY(
        SELECT n.{{.Key}} FROM new_rows AS n
        WHERE n.{{.Capacity}} IS NOT NULL
          AND NOT EXISTS (SELECT FROM old_rows AS o WHERE o.{{.Key}} = n.{{.Key}} AND o.{{.Capacity}} <= n.{{.Capacity}}));
{{template "turn.sql" .}}
    SELECT c.slot, c.live INTO refused
    FROM (SELECT s.{{.Key}} AS slot, s.{{.Capacity}} AS capacity,
                 (SELECT count(*) FROM {{.Bookings}} AS b WHERE b.{{.Slot}} = s.{{.Key}}{{.Live "b"}}) AS live
          FROM {{.Slots}} AS s WHERE s.{{.Key}} = ANY (guard.judged)) AS c
    WHERE c.live > c.capacity
    ORDER BY c.slot LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'slotkeeper/capacity-below-reserved: slot % reserved=%', refused.slot, refused.live
            USING ERRCODE = '23514', CONSTRAINT = 'slotkeeper_capacity_below_reserved';
    END IF;
    RETURN NULL;
END;
