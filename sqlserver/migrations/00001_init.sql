-- +goose Up
-- The promise stands here, for whichever program writes: triggers judge
-- capacity and ranges under locks that they take themselves. Nothing is counted
-- in a column of its own, so a load that skips triggers leaves no lie behind.

-- +goose StatementBegin
CREATE TABLE resources (
    id    BIGINT IDENTITY(1,1) NOT NULL CONSTRAINT resources_pkey PRIMARY KEY CLUSTERED,
    [key] NVARCHAR(256) COLLATE Latin1_General_100_BIN2 NOT NULL CONSTRAINT resources_key UNIQUE,
    name  NVARCHAR(256) NOT NULL,
    kind  VARCHAR(5) NOT NULL
          CONSTRAINT resources_kind CHECK (kind COLLATE Latin1_General_100_BIN2 IN ('place', 'thing')),
    CONSTRAINT resources_id_kind UNIQUE (id, kind)
);
-- +goose StatementEnd

-- 128 characters may be 256 UTF-16 units.
-- +goose StatementBegin
CREATE TABLE slots (
    id          BIGINT IDENTITY(1,1) NOT NULL CONSTRAINT slots_pkey PRIMARY KEY CLUSTERED,
    ref         NVARCHAR(256) COLLATE Latin1_General_100_BIN2 NULL,
    resource_id BIGINT NULL CONSTRAINT slots_resource REFERENCES resources (id),
    starts_at   DATETIMEOFFSET(6) NOT NULL,
    ends_at     DATETIMEOFFSET(6) NOT NULL,
    capacity    INT NOT NULL CONSTRAINT slots_capacity_range CHECK (capacity BETWEEN 1 AND 1000000),
    version     BIGINT NOT NULL CONSTRAINT slots_version DEFAULT 1,
    CONSTRAINT slots_range CHECK (starts_at < ends_at)
);
-- +goose StatementEnd
-- +goose StatementBegin
CREATE UNIQUE INDEX slots_ref ON slots (ref) WHERE ref IS NOT NULL;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE INDEX slots_start ON slots (starts_at, id);
-- +goose StatementEnd
-- By end, since what has ended long ago is most of a table and conflicts with nothing.
-- +goose StatementBegin
CREATE INDEX slots_resource_end ON slots (resource_id, ends_at) INCLUDE (starts_at);
-- +goose StatementEnd

-- Live is held or confirmed. A hold that has expired is kept as such for a day,
-- so that a late confirmation learns why; 'cancelled' is for programs that mark
-- instead of deleting.
-- +goose StatementBegin
CREATE TABLE reservations (
    id         BIGINT IDENTITY(1,1) NOT NULL CONSTRAINT reservations_pkey PRIMARY KEY CLUSTERED,
    slot_id    BIGINT NOT NULL CONSTRAINT reservations_slot REFERENCES slots (id),
    user_id    NVARCHAR(256) COLLATE Latin1_General_100_BIN2 NOT NULL
               CONSTRAINT reservations_user CHECK (user_id <> N''),
    status     VARCHAR(9) COLLATE Latin1_General_100_BIN2 NOT NULL
               CONSTRAINT reservations_status_default DEFAULT 'confirmed'
               CONSTRAINT reservations_status CHECK (status IN ('held', 'confirmed', 'expired', 'cancelled')),
    created_at DATETIMEOFFSET(6) NOT NULL CONSTRAINT reservations_created DEFAULT SYSDATETIMEOFFSET(),
    expires_at DATETIMEOFFSET(6) NULL,
    CONSTRAINT reservations_hold CHECK (status <> 'held' OR expires_at IS NOT NULL)
);
-- +goose StatementEnd
-- The range that the triggers count and lock: one slot's rows, no more.
-- +goose StatementBegin
CREATE INDEX reservations_slot_status ON reservations (slot_id, status) INCLUDE (expires_at);
-- +goose StatementEnd
-- +goose StatementBegin
CREATE UNIQUE INDEX reservations_one_each ON reservations (slot_id, user_id) WHERE status IN ('held', 'confirmed');
-- +goose StatementEnd
-- +goose StatementBegin
CREATE INDEX reservations_expiry ON reservations (status, expires_at) WHERE expires_at IS NOT NULL;
-- +goose StatementEnd

-- A booking names a place or a thing: the CHECK says which, the keys with the
-- constant kind say that it is one.
-- +goose StatementBegin
CREATE TABLE bookings (
    id          BIGINT IDENTITY(1,1) NOT NULL CONSTRAINT bookings_pkey PRIMARY KEY CLUSTERED,
    place_id    BIGINT NULL,
    thing_id    BIGINT NULL,
    place_kind  AS CAST('place' AS VARCHAR(5)) PERSISTED,
    thing_kind  AS CAST('thing' AS VARCHAR(5)) PERSISTED,
    resource_id AS (COALESCE(place_id, thing_id)) PERSISTED,
    user_id     NVARCHAR(256) COLLATE Latin1_General_100_BIN2 NOT NULL
                CONSTRAINT bookings_user CHECK (user_id <> N''),
    starts_at   DATETIMEOFFSET(6) NOT NULL,
    ends_at     DATETIMEOFFSET(6) NOT NULL,
    status      VARCHAR(9) COLLATE Latin1_General_100_BIN2 NOT NULL
                CONSTRAINT bookings_status_default DEFAULT 'confirmed'
                CONSTRAINT bookings_status CHECK (status IN ('held', 'confirmed', 'expired', 'cancelled')),
    created_at  DATETIMEOFFSET(6) NOT NULL CONSTRAINT bookings_created DEFAULT SYSDATETIMEOFFSET(),
    expires_at  DATETIMEOFFSET(6) NULL,
    CONSTRAINT bookings_place_or_thing CHECK
        (place_id IS NULL AND thing_id IS NOT NULL OR place_id IS NOT NULL AND thing_id IS NULL),
    CONSTRAINT bookings_place FOREIGN KEY (place_id, place_kind) REFERENCES resources (id, kind),
    CONSTRAINT bookings_thing FOREIGN KEY (thing_id, thing_kind) REFERENCES resources (id, kind),
    CONSTRAINT bookings_range CHECK (starts_at < ends_at),
    CONSTRAINT bookings_hold CHECK (status <> 'held' OR expires_at IS NOT NULL)
);
-- +goose StatementEnd
-- +goose StatementBegin
CREATE INDEX bookings_resource_end ON bookings (resource_id, ends_at) INCLUDE (starts_at, status, expires_at);
-- +goose StatementEnd
-- +goose StatementBegin
CREATE INDEX bookings_expiry ON bookings (status, expires_at) WHERE expires_at IS NOT NULL;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER [slotkeeper_capacity_reservations] ON [reservations]
AFTER INSERT, UPDATE
AS
-- Made by slotkeeper guard; change it there, not here.
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    IF EXISTS (SELECT 1 FROM deleted) AND NOT (UPDATE([slot_id]) OR UPDATE([status]))
        RETURN;

    -- The slots that have more live rows than before this statement.
    DECLARE @gained TABLE (slot BIGINT NOT NULL PRIMARY KEY);
    INSERT INTO @gained (slot)
    SELECT moved.slot
    FROM (SELECT [slot_id] AS slot, 1 AS n FROM inserted WHERE [slot_id] IS NOT NULL AND [status] IN ('held', 'confirmed')
          UNION ALL
          SELECT [slot_id], -1 FROM deleted WHERE [slot_id] IS NOT NULL AND [status] IN ('held', 'confirmed')) AS moved
    GROUP BY moved.slot
    HAVING SUM(moved.n) > 0;

    -- One slot after the other, ascending: the order in which every writer locks.
    DECLARE @slot BIGINT, @capacity BIGINT, @live BIGINT, @said NVARCHAR(2048);
    SET @slot = (SELECT TOP (1) slot FROM @gained ORDER BY slot);
    WHILE @slot IS NOT NULL
    BEGIN
        SET @capacity = NULL;
        SELECT @capacity = [capacity] FROM [slots] WITH (UPDLOCK, HOLDLOCK) WHERE [id] = @slot;
        SELECT @live = COUNT_BIG(*) FROM [reservations] WITH (UPDLOCK, HOLDLOCK) WHERE [slot_id] = @slot AND [status] IN ('held', 'confirmed');
        IF @live > @capacity
        BEGIN
            SET @said = CONCAT(N'slotkeeper/slot-full: slot ', @slot, N' has capacity ', @capacity);
            THROW 50000, @said, 1;
        END;
        SET @slot = (SELECT TOP (1) slot FROM @gained WHERE slot > @slot ORDER BY slot);
    END;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER [slotkeeper_slots_slots] ON [slots]
AFTER UPDATE
AS
-- Made by slotkeeper guard; change it there, not here.
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    IF NOT (UPDATE([capacity]) OR UPDATE([id]))
        RETURN;

    -- The slots whose capacity is lower than before this statement.
    DECLARE @lowered TABLE (slot BIGINT NOT NULL PRIMARY KEY, capacity BIGINT NOT NULL);
    INSERT INTO @lowered (slot, capacity)
    SELECT i.[id], i.[capacity]
    FROM inserted AS i
    WHERE i.[capacity] IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM deleted AS d WHERE d.[id] = i.[id] AND d.[capacity] <= i.[capacity]);

    DECLARE @slot BIGINT, @capacity BIGINT, @live BIGINT, @said NVARCHAR(2048);
    SET @slot = (SELECT TOP (1) slot FROM @lowered ORDER BY slot);
    WHILE @slot IS NOT NULL
    BEGIN
        SELECT @capacity = capacity FROM @lowered WHERE slot = @slot;
        SELECT @live = COUNT_BIG(*) FROM [reservations] WITH (UPDLOCK, HOLDLOCK) WHERE [slot_id] = @slot AND [status] IN ('held', 'confirmed');
        IF @live > @capacity
        BEGIN
            SET @said = CONCAT(N'slotkeeper/capacity-below-reserved: slot ', @slot, N' reserved=', @live);
            THROW 50000, @said, 3;
        END;
        SET @slot = (SELECT TOP (1) slot FROM @lowered WHERE slot > @slot ORDER BY slot);
    END;
END;
-- +goose StatementEnd

-- Slots and bookings of one resource exclude one another: whoever comes second
-- waits at the resource's row and then finds the first.
-- +goose StatementBegin
CREATE TRIGGER bookings_overlap ON bookings
AFTER INSERT, UPDATE
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    IF EXISTS (SELECT 1 FROM deleted) AND NOT (UPDATE(place_id) OR UPDATE(thing_id) OR UPDATE(starts_at) OR UPDATE(ends_at) OR UPDATE(status))
        RETURN;

    -- What takes more of a resource than before.
    DECLARE @claims TABLE (id BIGINT NOT NULL PRIMARY KEY, resource BIGINT NOT NULL,
                           starts_at DATETIMEOFFSET(6) NOT NULL, ends_at DATETIMEOFFSET(6) NOT NULL);
    INSERT INTO @claims (id, resource, starts_at, ends_at)
    SELECT i.id, COALESCE(i.place_id, i.thing_id), i.starts_at, i.ends_at
    FROM inserted AS i
    LEFT JOIN deleted AS d ON d.id = i.id AND d.status IN ('held', 'confirmed')
        AND COALESCE(d.place_id, d.thing_id) = COALESCE(i.place_id, i.thing_id)
        AND d.starts_at <= i.starts_at AND d.ends_at >= i.ends_at
    WHERE i.status IN ('held', 'confirmed') AND d.id IS NULL;

    DECLARE @resource BIGINT, @locked BIGINT, @said NVARCHAR(2048);
    SET @resource = (SELECT MIN(resource) FROM @claims);
    WHILE @resource IS NOT NULL
    BEGIN
        SELECT @locked = id FROM resources WITH (UPDLOCK, HOLDLOCK) WHERE id = @resource;
        IF EXISTS (SELECT 1 FROM @claims AS c
                   INNER JOIN bookings AS b WITH (UPDLOCK, HOLDLOCK)
                       ON b.resource_id = @resource AND b.ends_at > c.starts_at AND b.starts_at < c.ends_at
                   WHERE c.resource = @resource AND b.id <> c.id AND b.status IN ('held', 'confirmed'))
           OR EXISTS (SELECT 1 FROM @claims AS c
                   INNER JOIN slots AS s WITH (UPDLOCK, HOLDLOCK)
                       ON s.resource_id = @resource AND s.ends_at > c.starts_at AND s.starts_at < c.ends_at
                   WHERE c.resource = @resource)
        BEGIN
            SET @said = CONCAT(N'slotkeeper/resource-busy: resource ', @resource, N' is taken at that time');
            THROW 50000, @said, 2;
        END;
        SET @resource = (SELECT MIN(resource) FROM @claims WHERE resource > @resource);
    END;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER slots_overlap ON slots
AFTER INSERT, UPDATE
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    IF EXISTS (SELECT 1 FROM deleted) AND NOT (UPDATE(resource_id) OR UPDATE(starts_at) OR UPDATE(ends_at))
        RETURN;

    DECLARE @claims TABLE (id BIGINT NOT NULL PRIMARY KEY, resource BIGINT NOT NULL,
                           starts_at DATETIMEOFFSET(6) NOT NULL, ends_at DATETIMEOFFSET(6) NOT NULL);
    INSERT INTO @claims (id, resource, starts_at, ends_at)
    SELECT i.id, i.resource_id, i.starts_at, i.ends_at
    FROM inserted AS i
    LEFT JOIN deleted AS d ON d.id = i.id AND d.resource_id = i.resource_id
        AND d.starts_at <= i.starts_at AND d.ends_at >= i.ends_at
    WHERE i.resource_id IS NOT NULL AND d.id IS NULL;

    DECLARE @resource BIGINT, @locked BIGINT, @said NVARCHAR(2048);
    SET @resource = (SELECT MIN(resource) FROM @claims);
    WHILE @resource IS NOT NULL
    BEGIN
        SELECT @locked = id FROM resources WITH (UPDLOCK, HOLDLOCK) WHERE id = @resource;
        IF EXISTS (SELECT 1 FROM @claims AS c
                   INNER JOIN slots AS s WITH (UPDLOCK, HOLDLOCK)
                       ON s.resource_id = @resource AND s.ends_at > c.starts_at AND s.starts_at < c.ends_at
                   WHERE c.resource = @resource AND s.id <> c.id)
           OR EXISTS (SELECT 1 FROM @claims AS c
                   INNER JOIN bookings AS b WITH (UPDLOCK, HOLDLOCK)
                       ON b.resource_id = @resource AND b.ends_at > c.starts_at AND b.starts_at < c.ends_at
                   WHERE c.resource = @resource AND b.status IN ('held', 'confirmed'))
        BEGIN
            SET @said = CONCAT(N'slotkeeper/slot-overlap: resource ', @resource, N' is taken at that time');
            THROW 50000, @said, 4;
        END;
        SET @resource = (SELECT MIN(resource) FROM @claims WHERE resource > @resource);
    END;
END;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE bookings;
-- +goose StatementEnd
-- +goose StatementBegin
DROP TABLE reservations;
-- +goose StatementEnd
-- +goose StatementBegin
DROP TABLE slots;
-- +goose StatementEnd
-- +goose StatementBegin
DROP TABLE resources;
-- +goose StatementEnd
