{{define "claims"}}SELECT n.{{.Slot}} AS slot, n.{{.Start}} AS starts, n.{{.End}} AS ends
              FROM new_rows AS n WHERE n.{{.Slot}} IS NOT NULL{{.Live "n"}}{{end -}}
{{define "changed"}}{{template "claims" .}}{{if .RowKey}}
                AND NOT EXISTS (SELECT FROM old_rows AS o
                                WHERE o.{{.RowKey}} = n.{{.RowKey}} AND o.{{.Slot}} = n.{{.Slot}}{{.Live "o"}}
                                  AND o.{{.Start}} <= n.{{.Start}} AND o.{{.End}} >= n.{{.End}}){{else}}
              EXCEPT ALL
              SELECT o.{{.Slot}}, o.{{.Start}}, o.{{.End}}
              FROM old_rows AS o WHERE o.{{.Slot}} IS NOT NULL{{.Live "o"}}{{end}}{{end -}}
{{define "judge"}}WHERE 1 < (SELECT count(*) FROM {{.Bookings}} AS b
                   WHERE b.{{.Slot}} = c.slot AND b.{{.Start}} < c.ends AND c.starts < b.{{.End}}{{.Live "b"}})
        ORDER BY c.slot LIMIT 1;{{end -}}
-- Made by slotkeeper guard; change it there, not here.
<<guard>>
DECLARE
    judged {{.KeyType}}[];
    refused record;
BEGIN
    -- A row that was live and took as much before is not judged again.
    IF TG_OP = 'INSERT' THEN
        judged := ARRAY(SELECT DISTINCT c.slot FROM (
              {{template "claims" .}}) AS c);
    ELSE
        judged := ARRAY(SELECT DISTINCT c.slot FROM (
              {{template "changed" .}}) AS c);
    END IF;
{{template "turn.sql" .}}
    -- A live row overlaps itself, so that one is its due and two are a conflict.
    IF TG_OP = 'INSERT' THEN
        SELECT c.slot INTO refused FROM (
              {{template "claims" .}}) AS c
        {{template "judge" .}}
    ELSE
        SELECT c.slot INTO refused FROM (
              {{template "changed" .}}) AS c
        {{template "judge" .}}
    END IF;
    IF FOUND THEN
        RAISE EXCEPTION 'slotkeeper/resource-busy: resource % is taken at that time', refused.slot
            USING ERRCODE = '23P01', CONSTRAINT = 'slotkeeper_resource_busy';
    END IF;
    RETURN NULL;
END;
