-- +goose Up
-- The promise stands here, for whichever program writes: a counter kept by
-- triggers and a CHECK for capacity, exclusion constraints for ranges.
CREATE EXTENSION IF NOT EXISTS btree_gist;

CREATE TABLE resources (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key     text COLLATE "C" NOT NULL CONSTRAINT resources_key UNIQUE,
    name    text NOT NULL,
    kind    text NOT NULL CHECK (kind IN ('place', 'thing')),
    changes bigint NOT NULL DEFAULT 0, -- counted up by claim_* below
    CONSTRAINT resources_id_kind UNIQUE (id, kind)
);

-- reserved is not indexed and half of each page is left free, so that counting
-- a reservation stays a heap-only update.
CREATE TABLE slots (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ref         text COLLATE "C" CONSTRAINT slots_ref UNIQUE,
    resource_id bigint CONSTRAINT slots_resource REFERENCES resources (id),
    starts_at   timestamptz NOT NULL,
    ends_at     timestamptz NOT NULL,
    capacity    integer NOT NULL,
    reserved    integer NOT NULL DEFAULT 0,
    version     bigint NOT NULL DEFAULT 1,
    CONSTRAINT slots_range CHECK (starts_at < ends_at),
    CONSTRAINT slots_capacity_range CHECK (capacity BETWEEN 1 AND 1000000),
    CONSTRAINT slots_capacity CHECK (reserved BETWEEN 0 AND capacity),
    CONSTRAINT no_overlapping_slots EXCLUDE USING gist
        (resource_id WITH =, tstzrange(starts_at, ends_at, '[)') WITH &&)
        WHERE (resource_id IS NOT NULL)
) WITH (fillfactor = 50);
CREATE INDEX slots_start ON slots (starts_at, id);
CREATE INDEX slots_resource_start ON slots (resource_id, starts_at, id) WHERE resource_id IS NOT NULL;

-- Live is held or confirmed. A hold that has expired is kept as such for a
-- day, so that a late confirmation learns why; 'cancelled' is for programs
-- that mark instead of deleting.
CREATE TABLE reservations (
    id         bigint GENERATED ALWAYS AS IDENTITY,
    slot_id    bigint NOT NULL CONSTRAINT reservations_slot REFERENCES slots (id),
    user_id    text COLLATE "C" NOT NULL,
    status     text NOT NULL DEFAULT 'confirmed',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz,
    PRIMARY KEY (slot_id, id),
    CONSTRAINT reservations_user CHECK (user_id <> ''),
    CONSTRAINT reservations_status CHECK (status IN ('held', 'confirmed', 'expired', 'cancelled')),
    CONSTRAINT reservations_hold CHECK (status <> 'held' OR expires_at IS NOT NULL)
);
CREATE UNIQUE INDEX reservations_one_each ON reservations (slot_id, user_id) WHERE status IN ('held', 'confirmed');
CREATE INDEX reservations_held ON reservations (slot_id, expires_at) WHERE status = 'held';
CREATE INDEX reservations_expired ON reservations (slot_id, user_id) WHERE status = 'expired';
CREATE INDEX reservations_expiry ON reservations (status, expires_at) WHERE status IN ('held', 'expired');

-- The functions keep this path. Temporary tables, which a session may call as it
-- likes, come last in it: a trigger must not count in another "slots".
SELECT set_config('search_path', current_setting('search_path') || ', pg_temp', true);

-- One statement, however many rows, is one counter update a slot. Where there
-- are several slots they are locked by ascending id first, so that two such
-- statements don't deadlock; the array keeps that to one index probe a slot,
-- whatever the planner expects. Most statements concern one slot, and are
-- spared that.
-- +goose StatementBegin
CREATE FUNCTION count_reservations() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    lowest bigint; highest bigint; live bigint;
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT min(slot_id), max(slot_id), count(*) FILTER (WHERE status IN ('held', 'confirmed'))
        INTO lowest, highest, live FROM new_rows;
        IF lowest IS NOT DISTINCT FROM highest THEN
            UPDATE slots SET reserved = reserved + live WHERE id = lowest AND live > 0;
            RETURN NULL;
        END IF;
        PERFORM FROM slots WHERE id = ANY (ARRAY(SELECT DISTINCT slot_id FROM new_rows)) ORDER BY id FOR NO KEY UPDATE;
        UPDATE slots SET reserved = reserved + d.n
        FROM (SELECT slot_id, count(*) AS n FROM new_rows
              WHERE status IN ('held', 'confirmed') GROUP BY slot_id) d
        WHERE slots.id = d.slot_id;
    ELSIF TG_OP = 'DELETE' THEN
        SELECT min(slot_id), max(slot_id), count(*) FILTER (WHERE status IN ('held', 'confirmed'))
        INTO lowest, highest, live FROM old_rows;
        IF lowest IS NOT DISTINCT FROM highest THEN
            UPDATE slots SET reserved = reserved - live WHERE id = lowest AND live > 0;
            RETURN NULL;
        END IF;
        PERFORM FROM slots WHERE id = ANY (ARRAY(SELECT DISTINCT slot_id FROM old_rows)) ORDER BY id FOR NO KEY UPDATE;
        UPDATE slots SET reserved = reserved - d.n
        FROM (SELECT slot_id, count(*) AS n FROM old_rows
              WHERE status IN ('held', 'confirmed') GROUP BY slot_id) d
        WHERE slots.id = d.slot_id;
    ELSE
        PERFORM FROM slots WHERE id = ANY (ARRAY(SELECT slot_id FROM old_rows UNION SELECT slot_id FROM new_rows))
        ORDER BY id FOR NO KEY UPDATE;
        UPDATE slots SET reserved = reserved + d.n
        FROM (SELECT slot_id, sum(n) AS n
              FROM (SELECT slot_id, 1 AS n FROM new_rows WHERE status IN ('held', 'confirmed')
                    UNION ALL
                    SELECT slot_id, -1 FROM old_rows WHERE status IN ('held', 'confirmed')) moved
              GROUP BY slot_id HAVING sum(n) <> 0) d
        WHERE slots.id = d.slot_id;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER reservations_insert AFTER INSERT ON reservations
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_reservations();
CREATE TRIGGER reservations_update AFTER UPDATE ON reservations
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_reservations();
CREATE TRIGGER reservations_delete AFTER DELETE ON reservations
    REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION count_reservations();

-- +goose StatementBegin
CREATE FUNCTION forget_count() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE slots SET reserved = 0 WHERE reserved <> 0;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER reservations_truncate AFTER TRUNCATE ON reservations
    FOR EACH STATEMENT EXECUTE FUNCTION forget_count();

-- The counter is the triggers' alone: a program that sets it would overbook.
-- +goose StatementBegin
CREATE FUNCTION keep_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'slots.reserved is kept by the triggers on reservations and cannot be set'
        USING ERRCODE = '23514', CONSTRAINT = 'slots_reserved_kept';
END $$;
-- +goose StatementEnd
CREATE TRIGGER slots_reserved_insert BEFORE INSERT ON slots FOR EACH ROW
    WHEN (NEW.reserved <> 0) EXECUTE FUNCTION keep_count();
CREATE TRIGGER slots_reserved_update BEFORE UPDATE OF reserved ON slots FOR EACH ROW
    WHEN (pg_trigger_depth() = 0 AND NEW.reserved <> OLD.reserved) EXECUTE FUNCTION keep_count();

-- A booking names a place or a thing: the CHECK says which, the keys with the
-- constant kind say that it is one.
CREATE TABLE bookings (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    place_id    bigint,
    thing_id    bigint,
    place_kind  text GENERATED ALWAYS AS ('place') STORED,
    thing_kind  text GENERATED ALWAYS AS ('thing') STORED,
    resource_id bigint GENERATED ALWAYS AS (coalesce(place_id, thing_id)) STORED,
    user_id     text COLLATE "C" NOT NULL,
    starts_at   timestamptz NOT NULL,
    ends_at     timestamptz NOT NULL,
    status      text NOT NULL DEFAULT 'confirmed',
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at  timestamptz,
    CONSTRAINT bookings_place_or_thing CHECK (num_nonnulls(place_id, thing_id) = 1),
    CONSTRAINT bookings_place FOREIGN KEY (place_id, place_kind) REFERENCES resources (id, kind),
    CONSTRAINT bookings_thing FOREIGN KEY (thing_id, thing_kind) REFERENCES resources (id, kind),
    CONSTRAINT bookings_user CHECK (user_id <> ''),
    CONSTRAINT bookings_range CHECK (starts_at < ends_at),
    CONSTRAINT bookings_status CHECK (status IN ('held', 'confirmed', 'expired', 'cancelled')),
    CONSTRAINT bookings_hold CHECK (status <> 'held' OR expires_at IS NOT NULL),
    CONSTRAINT no_overlapping_bookings EXCLUDE USING gist
        (resource_id WITH =, tstzrange(starts_at, ends_at, '[)') WITH &&)
        WHERE (status IN ('held', 'confirmed'))
);
CREATE INDEX bookings_resource ON bookings (resource_id, starts_at, id) WHERE status IN ('held', 'confirmed');
CREATE INDEX bookings_expiry ON bookings (status, expires_at) WHERE status IN ('held', 'expired');

-- An exclusion constraint sees one table, and slots and bookings of a resource
-- exclude one another. Both triggers first change the resource's row: the
-- second of two writers waits there, and then sees what the first committed
-- (READ COMMITTED) or is told to start again (stricter levels).
-- +goose StatementBegin
CREATE FUNCTION claim_for_slot() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE resources SET changes = changes + 1 WHERE id = NEW.resource_id;
    IF EXISTS (SELECT FROM bookings b
               WHERE b.resource_id = NEW.resource_id AND b.status IN ('held', 'confirmed')
                 AND tstzrange(b.starts_at, b.ends_at, '[)') && tstzrange(NEW.starts_at, NEW.ends_at, '[)')) THEN
        RAISE EXCEPTION 'a booking of the same resource overlaps this slot'
            USING ERRCODE = '23P01', CONSTRAINT = 'no_slot_over_booking';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION claim_for_booking() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    claimed bigint := coalesce(NEW.place_id, NEW.thing_id);
BEGIN
    UPDATE resources SET changes = changes + 1 WHERE id = claimed;
    IF EXISTS (SELECT FROM slots s
               WHERE s.resource_id = claimed
                 AND tstzrange(s.starts_at, s.ends_at, '[)') && tstzrange(NEW.starts_at, NEW.ends_at, '[)')) THEN
        RAISE EXCEPTION 'a slot of the same resource overlaps this booking'
            USING ERRCODE = '23P01', CONSTRAINT = 'no_booking_over_slot';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
-- An interval that is empty or reversed never gets here as a range error: its
-- own CHECK is to refuse it.
CREATE TRIGGER slots_claim_insert BEFORE INSERT ON slots FOR EACH ROW
    WHEN (NEW.resource_id IS NOT NULL AND NEW.starts_at < NEW.ends_at)
    EXECUTE FUNCTION claim_for_slot();
CREATE TRIGGER slots_claim_update BEFORE UPDATE OF resource_id, starts_at, ends_at ON slots FOR EACH ROW
    WHEN (NEW.resource_id IS NOT NULL AND NEW.starts_at < NEW.ends_at
          AND (NEW.resource_id, NEW.starts_at, NEW.ends_at) IS DISTINCT FROM (OLD.resource_id, OLD.starts_at, OLD.ends_at))
    EXECUTE FUNCTION claim_for_slot();
CREATE TRIGGER bookings_claim_insert BEFORE INSERT ON bookings FOR EACH ROW
    WHEN (NEW.status IN ('held', 'confirmed') AND NEW.starts_at < NEW.ends_at)
    EXECUTE FUNCTION claim_for_booking();
CREATE TRIGGER bookings_claim_update BEFORE UPDATE OF place_id, thing_id, starts_at, ends_at, status ON bookings FOR EACH ROW
    WHEN (NEW.status IN ('held', 'confirmed') AND NEW.starts_at < NEW.ends_at
          AND (OLD.status NOT IN ('held', 'confirmed')
               OR (NEW.place_id, NEW.thing_id, NEW.starts_at, NEW.ends_at)
                  IS DISTINCT FROM (OLD.place_id, OLD.thing_id, OLD.starts_at, OLD.ends_at)))
    EXECUTE FUNCTION claim_for_booking();

-- +goose Down
DROP TABLE bookings;
DROP TABLE reservations;
DROP TABLE slots;
DROP TABLE resources;
DROP FUNCTION count_reservations(), forget_count(), keep_count(), claim_for_slot(), claim_for_booking();
