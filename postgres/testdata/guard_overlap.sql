-- Slotkeeper guard. It creates triggers, functions and one small table; it alters no table.
-- To be run with psql -v ON_ERROR_STOP=1, by the owner of the tables.
BEGIN;
SET LOCAL lock_timeout TO '500ms';
SET LOCAL client_min_messages TO warning;
SET LOCAL search_path TO pg_catalog, pg_temp;
SET LOCAL standard_conforming_strings TO on;

DROP TRIGGER IF EXISTS "slotkeeper_overlap_insert" ON "public"."stays";
DROP TRIGGER IF EXISTS "slotkeeper_overlap_update" ON "public"."stays";
DROP FUNCTION IF EXISTS "public"."slotkeeper_overlap_stays"();
DROP TABLE IF EXISTS "public"."slotkeeper_overlap_turns_stays";

CREATE UNLOGGED TABLE "public"."slotkeeper_overlap_turns_stays" (slot uuid PRIMARY KEY, turn bigint NOT NULL DEFAULT 1) WITH (fillfactor = 50);
COMMENT ON TABLE "public"."slotkeeper_overlap_turns_stays" IS 'Made by slotkeeper guard: locks, no data; unlogged on purpose.';

CREATE FUNCTION "public"."slotkeeper_overlap_stays"() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO pg_catalog, pg_temp
SET row_security TO off
AS $guard0$-- Made by slotkeeper guard; change it there, not here.
<<guard>>
DECLARE
    judged uuid[];
    refused record;
BEGIN
    -- A row that was live and took as much before is not judged again.
    IF TG_OP = 'INSERT' THEN
        judged := ARRAY(SELECT DISTINCT c.slot FROM (
              SELECT n."room" AS slot, n."arrives" AS starts, n."leaves" AS ends
              FROM new_rows AS n WHERE n."room" IS NOT NULL AND n."live" IN ('true')) AS c);
    ELSE
        judged := ARRAY(SELECT DISTINCT c.slot FROM (
              SELECT n."room" AS slot, n."arrives" AS starts, n."leaves" AS ends
              FROM new_rows AS n WHERE n."room" IS NOT NULL AND n."live" IN ('true')
              EXCEPT ALL
              SELECT o."room", o."arrives", o."leaves"
              FROM old_rows AS o WHERE o."room" IS NOT NULL AND o."live" IN ('true')) AS c);
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
    INSERT INTO "public"."slotkeeper_overlap_turns_stays" AS t (slot)
    SELECT s."id" FROM "public"."rooms" AS s WHERE s."id" = ANY (guard.judged)
    ORDER BY s."id" FOR NO KEY UPDATE OF s
    ON CONFLICT (slot) DO UPDATE SET turn = t.turn + 1;

    -- A live row overlaps itself, so that one is its due and two are a conflict.
    IF TG_OP = 'INSERT' THEN
        SELECT c.slot INTO refused FROM (
              SELECT n."room" AS slot, n."arrives" AS starts, n."leaves" AS ends
              FROM new_rows AS n WHERE n."room" IS NOT NULL AND n."live" IN ('true')) AS c
        WHERE 1 < (SELECT count(*) FROM "public"."stays" AS b
                   WHERE b."room" = c.slot AND b."arrives" < c.ends AND c.starts < b."leaves" AND b."live" IN ('true'))
        ORDER BY c.slot LIMIT 1;
    ELSE
        SELECT c.slot INTO refused FROM (
              SELECT n."room" AS slot, n."arrives" AS starts, n."leaves" AS ends
              FROM new_rows AS n WHERE n."room" IS NOT NULL AND n."live" IN ('true')
              EXCEPT ALL
              SELECT o."room", o."arrives", o."leaves"
              FROM old_rows AS o WHERE o."room" IS NOT NULL AND o."live" IN ('true')) AS c
        WHERE 1 < (SELECT count(*) FROM "public"."stays" AS b
                   WHERE b."room" = c.slot AND b."arrives" < c.ends AND c.starts < b."leaves" AND b."live" IN ('true'))
        ORDER BY c.slot LIMIT 1;
    END IF;
    IF FOUND THEN
        RAISE EXCEPTION 'slotkeeper/resource-busy: resource % is taken at that time', refused.slot
            USING ERRCODE = '23P01', CONSTRAINT = 'slotkeeper_resource_busy';
    END IF;
    RETURN NULL;
END;
$guard0$;
REVOKE ALL ON FUNCTION "public"."slotkeeper_overlap_stays"() FROM PUBLIC;

CREATE TRIGGER "slotkeeper_overlap_insert" AFTER INSERT ON "public"."stays"
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "public"."slotkeeper_overlap_stays"();
CREATE TRIGGER "slotkeeper_overlap_update" AFTER UPDATE ON "public"."stays"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "public"."slotkeeper_overlap_stays"();

COMMIT;
