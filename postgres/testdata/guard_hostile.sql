-- Slotkeeper guard. It creates triggers, functions and one small table; it alters no table.
-- To be run with psql -v ON_ERROR_STOP=1, by the owner of the tables.
BEGIN;
SET LOCAL lock_timeout TO '500ms';
SET LOCAL client_min_messages TO warning;
SET LOCAL search_path TO pg_catalog, pg_temp;
SET LOCAL standard_conforming_strings TO on;

DROP TRIGGER IF EXISTS "slotkeeper_capacity_insert" ON "Praxis; DROP TABLE x --"."Termine"" $guard0$ */ 予約";
DROP TRIGGER IF EXISTS "slotkeeper_capacity_update" ON "Praxis; DROP TABLE x --"."Termine"" $guard0$ */ 予約";
DROP TRIGGER IF EXISTS "slotkeeper_slots_Termine"" $guard0$ */ 予約" ON "a.b"."Sitzung ""]";
DROP FUNCTION IF EXISTS "Praxis; DROP TABLE x --"."slotkeeper_capacity_Termine"" $guard0$ */ 予約"();
DROP FUNCTION IF EXISTS "Praxis; DROP TABLE x --"."slotkeeper_slots_Termine"" $guard0$ */ 予約"();
DROP TABLE IF EXISTS "Praxis; DROP TABLE x --"."slotkeeper_capacity_turns_Termine"" $guard0$ */ 予約";

CREATE UNLOGGED TABLE "Praxis; DROP TABLE x --"."slotkeeper_capacity_turns_Termine"" $guard0$ */ 予約" (slot text PRIMARY KEY, turn bigint NOT NULL DEFAULT 1) WITH (fillfactor = 50);
COMMENT ON TABLE "Praxis; DROP TABLE x --"."slotkeeper_capacity_turns_Termine"" $guard0$ */ 予約" IS 'Made by slotkeeper guard: locks, no data; unlogged on purpose.';

CREATE FUNCTION "Praxis; DROP TABLE x --"."slotkeeper_capacity_Termine"" $guard0$ */ 予約"() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO pg_catalog, pg_temp
SET row_security TO off
AS $guard1$-- Made by slotkeeper guard; change it there, not here.
<<guard>>
DECLARE
    judged text[];
    refused record;
BEGIN
    -- The slots that have more live rows than before this statement.
    IF TG_OP = 'INSERT' THEN
        judged := ARRAY(SELECT DISTINCT n."Slot""; DELETE x --" FROM new_rows AS n WHERE n."Slot""; DELETE x --" IS NOT NULL AND n."Zu'stand" IN ('o''k', '予約', '''; DROP TABLE y --', E'\\''; DROP TABLE z --'));
    ELSE
        judged := ARRAY(
            SELECT moved.slot
            FROM (SELECT n."Slot""; DELETE x --" AS slot, 1 AS more FROM new_rows AS n WHERE n."Slot""; DELETE x --" IS NOT NULL AND n."Zu'stand" IN ('o''k', '予約', '''; DROP TABLE y --', E'\\''; DROP TABLE z --')
                  UNION ALL
                  SELECT o."Slot""; DELETE x --", -1 FROM old_rows AS o WHERE o."Slot""; DELETE x --" IS NOT NULL AND o."Zu'stand" IN ('o''k', '予約', '''; DROP TABLE y --', E'\\''; DROP TABLE z --')) AS moved
            GROUP BY moved.slot
            HAVING sum(moved.more) > 0);
    END IF;
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
    INSERT INTO "Praxis; DROP TABLE x --"."slotkeeper_capacity_turns_Termine"" $guard0$ */ 予約" AS t (slot)
    SELECT s."judged" FROM "a.b"."Sitzung ""]" AS s WHERE s."judged" = ANY (guard.judged)
    ORDER BY s."judged" FOR NO KEY UPDATE OF s
    ON CONFLICT (slot) DO UPDATE SET turn = t.turn + 1;

    SELECT s."judged" AS slot, s."refused" AS capacity INTO refused
    FROM "a.b"."Sitzung ""]" AS s
    WHERE s."judged" = ANY (guard.judged)
      AND s."refused" < (SELECT count(*) FROM "Praxis; DROP TABLE x --"."Termine"" $guard0$ */ 予約" AS b WHERE b."Slot""; DELETE x --" = s."judged" AND b."Zu'stand" IN ('o''k', '予約', '''; DROP TABLE y --', E'\\''; DROP TABLE z --'))
    ORDER BY s."judged" LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'slotkeeper/slot-full: slot % has capacity %', refused.slot, refused.capacity
            USING ERRCODE = '23514', CONSTRAINT = 'slotkeeper_slot_full';
    END IF;
    RETURN NULL;
END;
$guard1$;
REVOKE ALL ON FUNCTION "Praxis; DROP TABLE x --"."slotkeeper_capacity_Termine"" $guard0$ */ 予約"() FROM PUBLIC;

CREATE FUNCTION "Praxis; DROP TABLE x --"."slotkeeper_slots_Termine"" $guard0$ */ 予約"() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO pg_catalog, pg_temp
SET row_security TO off
AS $guard1$-- Made by slotkeeper guard; change it there, not here.
<<guard>>
DECLARE
    judged text[];
    refused record;
BEGIN
    -- The slots whose capacity is lower than before this statement.
    judged := ARRAY(
        SELECT n."judged" FROM new_rows AS n
        WHERE n."refused" IS NOT NULL
          AND NOT EXISTS (SELECT FROM old_rows AS o WHERE o."judged" = n."judged" AND o."refused" <= n."refused"));
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
    INSERT INTO "Praxis; DROP TABLE x --"."slotkeeper_capacity_turns_Termine"" $guard0$ */ 予約" AS t (slot)
    SELECT s."judged" FROM "a.b"."Sitzung ""]" AS s WHERE s."judged" = ANY (guard.judged)
    ORDER BY s."judged" FOR NO KEY UPDATE OF s
    ON CONFLICT (slot) DO UPDATE SET turn = t.turn + 1;

    SELECT c.slot, c.live INTO refused
    FROM (SELECT s."judged" AS slot, s."refused" AS capacity,
                 (SELECT count(*) FROM "Praxis; DROP TABLE x --"."Termine"" $guard0$ */ 予約" AS b WHERE b."Slot""; DELETE x --" = s."judged" AND b."Zu'stand" IN ('o''k', '予約', '''; DROP TABLE y --', E'\\''; DROP TABLE z --')) AS live
          FROM "a.b"."Sitzung ""]" AS s WHERE s."judged" = ANY (guard.judged)) AS c
    WHERE c.live > c.capacity
    ORDER BY c.slot LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'slotkeeper/capacity-below-reserved: slot % reserved=%', refused.slot, refused.live
            USING ERRCODE = '23514', CONSTRAINT = 'slotkeeper_capacity_below_reserved';
    END IF;
    RETURN NULL;
END;
$guard1$;
REVOKE ALL ON FUNCTION "Praxis; DROP TABLE x --"."slotkeeper_slots_Termine"" $guard0$ */ 予約"() FROM PUBLIC;

CREATE TRIGGER "slotkeeper_capacity_insert" AFTER INSERT ON "Praxis; DROP TABLE x --"."Termine"" $guard0$ */ 予約"
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "Praxis; DROP TABLE x --"."slotkeeper_capacity_Termine"" $guard0$ */ 予約"();
CREATE TRIGGER "slotkeeper_capacity_update" AFTER UPDATE ON "Praxis; DROP TABLE x --"."Termine"" $guard0$ */ 予約"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "Praxis; DROP TABLE x --"."slotkeeper_capacity_Termine"" $guard0$ */ 予約"();
CREATE TRIGGER "slotkeeper_slots_Termine"" $guard0$ */ 予約" AFTER UPDATE ON "a.b"."Sitzung ""]"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "Praxis; DROP TABLE x --"."slotkeeper_slots_Termine"" $guard0$ */ 予約"();

COMMIT;
