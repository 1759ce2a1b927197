-- Slotkeeper guard. It creates triggers, functions and one small table; it alters no table.
-- To be run with psql -v ON_ERROR_STOP=1, by the owner of the tables.
BEGIN;
SET LOCAL lock_timeout TO '500ms';
SET LOCAL client_min_messages TO warning;
SET LOCAL search_path TO pg_catalog, pg_temp;
SET LOCAL standard_conforming_strings TO on;

DROP TRIGGER IF EXISTS "slotkeeper_capacity_insert" ON "clinic"."appointments";
DROP TRIGGER IF EXISTS "slotkeeper_capacity_update" ON "clinic"."appointments";
DROP TRIGGER IF EXISTS "slotkeeper_slots_appointments" ON "clinic"."sessions";
DROP FUNCTION IF EXISTS "clinic"."slotkeeper_capacity_appointments"();
DROP FUNCTION IF EXISTS "clinic"."slotkeeper_slots_appointments"();
DROP TABLE IF EXISTS "clinic"."slotkeeper_capacity_turns_appointments";

CREATE UNLOGGED TABLE "clinic"."slotkeeper_capacity_turns_appointments" (slot bigint PRIMARY KEY, turn bigint NOT NULL DEFAULT 1) WITH (fillfactor = 50);
COMMENT ON TABLE "clinic"."slotkeeper_capacity_turns_appointments" IS 'Made by slotkeeper guard: locks, no data; unlogged on purpose.';

CREATE FUNCTION "clinic"."slotkeeper_capacity_appointments"() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO pg_catalog, pg_temp
SET row_security TO off
AS $guard0$-- Made by slotkeeper guard; change it there, not here.
<<guard>>
DECLARE
    judged bigint[];
    refused record;
BEGIN
    -- The slots that have more live rows than before this statement.
    IF TG_OP = 'INSERT' THEN
        judged := ARRAY(SELECT DISTINCT n."slot_id" FROM new_rows AS n WHERE n."slot_id" IS NOT NULL AND n."status" IN ('booked', 'checked in'));
    ELSE
        judged := ARRAY(
            SELECT moved.slot
            FROM (SELECT n."slot_id" AS slot, 1 AS more FROM new_rows AS n WHERE n."slot_id" IS NOT NULL AND n."status" IN ('booked', 'checked in')
                  UNION ALL
                  SELECT o."slot_id", -1 FROM old_rows AS o WHERE o."slot_id" IS NOT NULL AND o."status" IN ('booked', 'checked in')) AS moved
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
    INSERT INTO "clinic"."slotkeeper_capacity_turns_appointments" AS t (slot)
    SELECT s."id" FROM "clinic"."sessions" AS s WHERE s."id" = ANY (guard.judged)
    ORDER BY s."id" FOR NO KEY UPDATE OF s
    ON CONFLICT (slot) DO UPDATE SET turn = t.turn + 1;

    SELECT s."id" AS slot, s."places" AS capacity INTO refused
    FROM "clinic"."sessions" AS s
    WHERE s."id" = ANY (guard.judged)
      AND s."places" < (SELECT count(*) FROM "clinic"."appointments" AS b WHERE b."slot_id" = s."id" AND b."status" IN ('booked', 'checked in'))
    ORDER BY s."id" LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'slotkeeper/slot-full: slot % has capacity %', refused.slot, refused.capacity
            USING ERRCODE = '23514', CONSTRAINT = 'slotkeeper_slot_full';
    END IF;
    RETURN NULL;
END;
$guard0$;
REVOKE ALL ON FUNCTION "clinic"."slotkeeper_capacity_appointments"() FROM PUBLIC;

CREATE FUNCTION "clinic"."slotkeeper_slots_appointments"() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO pg_catalog, pg_temp
SET row_security TO off
AS $guard0$-- Made by slotkeeper guard; change it there, not here.
<<guard>>
DECLARE
    judged bigint[];
    refused record;
BEGIN
    -- The slots whose capacity is lower than before this statement.
    judged := ARRAY(
        SELECT n."id" FROM new_rows AS n
        WHERE n."places" IS NOT NULL
          AND NOT EXISTS (SELECT FROM old_rows AS o WHERE o."id" = n."id" AND o."places" <= n."places"));
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
    INSERT INTO "clinic"."slotkeeper_capacity_turns_appointments" AS t (slot)
    SELECT s."id" FROM "clinic"."sessions" AS s WHERE s."id" = ANY (guard.judged)
    ORDER BY s."id" FOR NO KEY UPDATE OF s
    ON CONFLICT (slot) DO UPDATE SET turn = t.turn + 1;

    SELECT c.slot, c.live INTO refused
    FROM (SELECT s."id" AS slot, s."places" AS capacity,
                 (SELECT count(*) FROM "clinic"."appointments" AS b WHERE b."slot_id" = s."id" AND b."status" IN ('booked', 'checked in')) AS live
          FROM "clinic"."sessions" AS s WHERE s."id" = ANY (guard.judged)) AS c
    WHERE c.live > c.capacity
    ORDER BY c.slot LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'slotkeeper/capacity-below-reserved: slot % reserved=%', refused.slot, refused.live
            USING ERRCODE = '23514', CONSTRAINT = 'slotkeeper_capacity_below_reserved';
    END IF;
    RETURN NULL;
END;
$guard0$;
REVOKE ALL ON FUNCTION "clinic"."slotkeeper_slots_appointments"() FROM PUBLIC;

CREATE TRIGGER "slotkeeper_capacity_insert" AFTER INSERT ON "clinic"."appointments"
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "clinic"."slotkeeper_capacity_appointments"();
CREATE TRIGGER "slotkeeper_capacity_update" AFTER UPDATE ON "clinic"."appointments"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "clinic"."slotkeeper_capacity_appointments"();
CREATE TRIGGER "slotkeeper_slots_appointments" AFTER UPDATE ON "clinic"."sessions"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "clinic"."slotkeeper_slots_appointments"();

COMMIT;
