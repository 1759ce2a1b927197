-- +goose Up
-- The promise stands here, for whichever program writes: triggers judge each
-- row and keep the counter, a CHECK bounds it. They use RAISE(ABORT), since a
-- constraint alone gives way to INSERT OR IGNORE and OR REPLACE of the outer
-- statement. Their messages are the codes of the refusals.
-- Times are whole microseconds since 1970-01-01T00:00:00Z.
CREATE TABLE resources (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    key  TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('place', 'thing'))
) STRICT;

CREATE TABLE slots (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    ref         TEXT UNIQUE,
    resource_id INTEGER REFERENCES resources (id),
    starts_at   INTEGER NOT NULL,
    ends_at     INTEGER NOT NULL,
    capacity    INTEGER NOT NULL,
    reserved    INTEGER NOT NULL DEFAULT 0,
    version     INTEGER NOT NULL DEFAULT 1,
    CONSTRAINT slots_range CHECK (starts_at < ends_at),
    CONSTRAINT slots_capacity_range CHECK (capacity BETWEEN 1 AND 1000000),
    CONSTRAINT slots_capacity CHECK (reserved BETWEEN 0 AND capacity)
) STRICT;
CREATE INDEX slots_start ON slots (starts_at, id);
CREATE INDEX slots_resource_start ON slots (resource_id, starts_at) WHERE resource_id IS NOT NULL;

-- Live is held or confirmed. A hold that has expired is kept as such for a
-- day, so that a late confirmation learns why; 'cancelled' is for programs
-- that mark instead of deleting.
CREATE TABLE reservations (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    slot_id    INTEGER NOT NULL REFERENCES slots (id),
    user_id    TEXT NOT NULL CHECK (user_id <> ''),
    status     TEXT NOT NULL DEFAULT 'confirmed' CHECK (status IN ('held', 'confirmed', 'expired', 'cancelled')),
    created_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER)),
    expires_at INTEGER,
    CONSTRAINT reservations_hold CHECK (status <> 'held' OR expires_at IS NOT NULL)
) STRICT;
CREATE INDEX reservations_slot ON reservations (slot_id); -- and, as every index, by id
CREATE UNIQUE INDEX reservations_one_each ON reservations (slot_id, user_id) WHERE status IN ('held', 'confirmed');
CREATE INDEX reservations_held ON reservations (slot_id, expires_at) WHERE status = 'held';
CREATE INDEX reservations_expired ON reservations (slot_id, user_id) WHERE status = 'expired';
CREATE INDEX reservations_expiry ON reservations (status, expires_at) WHERE status IN ('held', 'expired');

-- +goose StatementBegin
CREATE TRIGGER reservations_judge_insert BEFORE INSERT ON reservations WHEN NEW.status IN ('held', 'confirmed')
BEGIN
    SELECT RAISE(ABORT, 'slot-not-found') WHERE NOT EXISTS (SELECT 1 FROM slots WHERE id = NEW.slot_id);
    SELECT RAISE(ABORT, 'already-reserved') WHERE EXISTS (
        SELECT 1 FROM reservations
        WHERE slot_id = NEW.slot_id AND user_id = NEW.user_id AND status IN ('held', 'confirmed'));
    SELECT RAISE(ABORT, 'id-taken') WHERE EXISTS (SELECT 1 FROM reservations WHERE id = NEW.id);
    SELECT RAISE(ABORT, 'slot-full') FROM slots WHERE id = NEW.slot_id AND reserved >= capacity;
END;
-- +goose StatementEnd
-- OR REPLACE would delete the row of that id without its trigger.
-- +goose StatementBegin
CREATE TRIGGER reservations_judge_id BEFORE INSERT ON reservations WHEN NEW.status NOT IN ('held', 'confirmed')
BEGIN
    SELECT RAISE(ABORT, 'id-taken') WHERE EXISTS (SELECT 1 FROM reservations WHERE id = NEW.id);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER reservations_judge_new_id BEFORE UPDATE OF id ON reservations
WHEN NEW.id <> OLD.id AND NEW.status NOT IN ('held', 'confirmed')
BEGIN
    SELECT RAISE(ABORT, 'id-taken') WHERE EXISTS (SELECT 1 FROM reservations WHERE id = NEW.id);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER reservations_judge_update BEFORE UPDATE OF id, slot_id, user_id, status ON reservations
WHEN NEW.status IN ('held', 'confirmed')
BEGIN
    SELECT RAISE(ABORT, 'slot-not-found') WHERE NOT EXISTS (SELECT 1 FROM slots WHERE id = NEW.slot_id);
    SELECT RAISE(ABORT, 'already-reserved') WHERE EXISTS (
        SELECT 1 FROM reservations
        WHERE slot_id = NEW.slot_id AND user_id = NEW.user_id AND status IN ('held', 'confirmed') AND id <> OLD.id);
    SELECT RAISE(ABORT, 'id-taken') WHERE NEW.id <> OLD.id AND EXISTS (SELECT 1 FROM reservations WHERE id = NEW.id);
    SELECT RAISE(ABORT, 'slot-full') FROM slots
    WHERE id = NEW.slot_id AND reserved >= capacity
      AND (OLD.status NOT IN ('held', 'confirmed') OR OLD.slot_id <> NEW.slot_id);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER reservations_count_insert AFTER INSERT ON reservations WHEN NEW.status IN ('held', 'confirmed')
BEGIN
    UPDATE slots SET reserved = reserved + 1 WHERE id = NEW.slot_id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER reservations_count_delete AFTER DELETE ON reservations WHEN OLD.status IN ('held', 'confirmed')
BEGIN
    UPDATE slots SET reserved = reserved - 1 WHERE id = OLD.slot_id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER reservations_count_update AFTER UPDATE OF slot_id, status ON reservations
WHEN OLD.slot_id <> NEW.slot_id OR (OLD.status IN ('held', 'confirmed')) <> (NEW.status IN ('held', 'confirmed'))
BEGIN
    UPDATE slots SET reserved = reserved - 1 WHERE id = OLD.slot_id AND OLD.status IN ('held', 'confirmed');
    UPDATE slots SET reserved = reserved + 1 WHERE id = NEW.slot_id AND NEW.status IN ('held', 'confirmed');
END;
-- +goose StatementEnd

-- A booking names a place or a thing, never both, never neither.
CREATE TABLE bookings (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    place_id    INTEGER REFERENCES resources (id),
    thing_id    INTEGER REFERENCES resources (id),
    resource_id INTEGER GENERATED ALWAYS AS (coalesce(place_id, thing_id)) STORED,
    user_id     TEXT NOT NULL CHECK (user_id <> ''),
    starts_at   INTEGER NOT NULL,
    ends_at     INTEGER NOT NULL,
    status      TEXT NOT NULL DEFAULT 'confirmed' CHECK (status IN ('held', 'confirmed', 'expired', 'cancelled')),
    created_at  INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER)),
    expires_at  INTEGER,
    CONSTRAINT bookings_place_or_thing CHECK ((place_id IS NULL) <> (thing_id IS NULL)),
    CONSTRAINT bookings_range CHECK (starts_at < ends_at),
    CONSTRAINT bookings_hold CHECK (status <> 'held' OR expires_at IS NOT NULL)
) STRICT;
CREATE INDEX bookings_resource ON bookings (resource_id, starts_at, id) WHERE status IN ('held', 'confirmed');
CREATE INDEX bookings_expiry ON bookings (status, expires_at) WHERE status IN ('held', 'expired');

-- Claims on a resource never overlap, so of those that start before a new one
-- ends only the last can reach into it: one index probe each.
-- +goose StatementBegin
CREATE TRIGGER bookings_judge_insert BEFORE INSERT ON bookings WHEN NEW.status IN ('held', 'confirmed')
BEGIN
    SELECT RAISE(ABORT, 'id-taken') WHERE EXISTS (SELECT 1 FROM bookings WHERE id = NEW.id);
    SELECT RAISE(ABORT, 'resource-not-found') WHERE NOT EXISTS (
        SELECT 1 FROM resources WHERE id = coalesce(NEW.place_id, NEW.thing_id)
          AND kind = CASE WHEN NEW.place_id IS NULL THEN 'thing' ELSE 'place' END);
    SELECT RAISE(ABORT, 'resource-busy') WHERE NEW.starts_at < (
        SELECT ends_at FROM bookings
        WHERE resource_id = coalesce(NEW.place_id, NEW.thing_id) AND status IN ('held', 'confirmed') AND starts_at < NEW.ends_at
        ORDER BY starts_at DESC LIMIT 1);
    SELECT RAISE(ABORT, 'resource-busy') WHERE NEW.starts_at < (
        SELECT ends_at FROM slots
        WHERE resource_id = coalesce(NEW.place_id, NEW.thing_id) AND starts_at < NEW.ends_at
        ORDER BY starts_at DESC LIMIT 1);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER bookings_judge_update BEFORE UPDATE OF id, place_id, thing_id, starts_at, ends_at, status ON bookings
WHEN NEW.status IN ('held', 'confirmed')
BEGIN
    SELECT RAISE(ABORT, 'id-taken') WHERE NEW.id <> OLD.id AND EXISTS (SELECT 1 FROM bookings WHERE id = NEW.id);
    SELECT RAISE(ABORT, 'resource-not-found') WHERE NOT EXISTS (
        SELECT 1 FROM resources WHERE id = coalesce(NEW.place_id, NEW.thing_id)
          AND kind = CASE WHEN NEW.place_id IS NULL THEN 'thing' ELSE 'place' END);
    SELECT RAISE(ABORT, 'resource-busy') WHERE NEW.starts_at < (
        SELECT ends_at FROM bookings
        WHERE resource_id = coalesce(NEW.place_id, NEW.thing_id) AND status IN ('held', 'confirmed') AND starts_at < NEW.ends_at
          AND id <> OLD.id
        ORDER BY starts_at DESC LIMIT 1);
    SELECT RAISE(ABORT, 'resource-busy') WHERE NEW.starts_at < (
        SELECT ends_at FROM slots
        WHERE resource_id = coalesce(NEW.place_id, NEW.thing_id) AND starts_at < NEW.ends_at
        ORDER BY starts_at DESC LIMIT 1);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER slots_judge_insert BEFORE INSERT ON slots
BEGIN
    SELECT RAISE(ABORT, 'id-taken') WHERE EXISTS (SELECT 1 FROM slots WHERE id = NEW.id OR ref = NEW.ref);
    SELECT RAISE(ABORT, 'reserved-is-kept') WHERE NEW.reserved <> 0;
    SELECT RAISE(ABORT, 'slot-overlap') WHERE NEW.starts_at < (
        SELECT ends_at FROM slots WHERE resource_id = NEW.resource_id AND starts_at < NEW.ends_at
        ORDER BY starts_at DESC LIMIT 1);
    SELECT RAISE(ABORT, 'slot-overlap') WHERE NEW.starts_at < (
        SELECT ends_at FROM bookings
        WHERE resource_id = NEW.resource_id AND status IN ('held', 'confirmed') AND starts_at < NEW.ends_at
        ORDER BY starts_at DESC LIMIT 1);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER slots_judge_update BEFORE UPDATE OF resource_id, starts_at, ends_at ON slots
BEGIN
    SELECT RAISE(ABORT, 'slot-overlap') WHERE NEW.starts_at < (
        SELECT ends_at FROM slots WHERE resource_id = NEW.resource_id AND starts_at < NEW.ends_at AND id <> OLD.id
        ORDER BY starts_at DESC LIMIT 1);
    SELECT RAISE(ABORT, 'slot-overlap') WHERE NEW.starts_at < (
        SELECT ends_at FROM bookings
        WHERE resource_id = NEW.resource_id AND status IN ('held', 'confirmed') AND starts_at < NEW.ends_at
        ORDER BY starts_at DESC LIMIT 1);
END;
-- +goose StatementEnd
-- OR REPLACE would delete the slot of that id or ref without its trigger, and a
-- slot that takes another id would leave its reservations behind.
-- +goose StatementBegin
CREATE TRIGGER slots_judge_names BEFORE UPDATE OF id, ref ON slots
BEGIN
    SELECT RAISE(ABORT, 'id-taken') WHERE EXISTS (SELECT 1 FROM slots WHERE (id = NEW.id OR ref = NEW.ref) AND id <> OLD.id);
    SELECT RAISE(ABORT, 'slot-has-reservations') WHERE NEW.id <> OLD.id AND OLD.reserved > 0;
END;
-- +goose StatementEnd
-- A program whose connection has foreign keys off (SQLite's default) must not
-- orphan reservations either.
-- +goose StatementBegin
CREATE TRIGGER slots_judge_delete BEFORE DELETE ON slots
BEGIN
    SELECT RAISE(ABORT, 'slot-has-reservations') WHERE OLD.reserved > 0;
END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE bookings;
DROP TABLE reservations;
DROP TABLE slots;
DROP TABLE resources;
