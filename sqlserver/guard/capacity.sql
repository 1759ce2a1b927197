CREATE TRIGGER {{.Name}} ON {{.Bookings}}
AFTER INSERT, UPDATE
AS
-- Made by slotkeeper guard; change it there, not here.
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    IF EXISTS (SELECT 1 FROM deleted) AND NOT (UPDATE({{.Slot}}){{if .Status}} OR UPDATE({{.Status}}){{end}})
        RETURN;

    -- The slots that have more live rows than before this statement.
    DECLARE @gained TABLE (slot {{.SlotType}} NOT NULL PRIMARY KEY);
    INSERT INTO @gained (slot)
    SELECT moved.slot
    FROM (SELECT {{.Slot}} AS slot, 1 AS n FROM inserted WHERE {{.Slot}} IS NOT NULL{{.AndLive}}
          UNION ALL
          SELECT {{.Slot}}, -1 FROM deleted WHERE {{.Slot}} IS NOT NULL{{.AndLive}}) AS moved
    GROUP BY moved.slot
    HAVING SUM(moved.n) > 0;

    -- One slot after the other, ascending: the order in which every writer locks.
    DECLARE @slot {{.SlotVariable}}, @capacity BIGINT, @live BIGINT, @said NVARCHAR(2048);
    SET @slot = (SELECT TOP (1) slot FROM @gained ORDER BY slot);
    WHILE @slot IS NOT NULL
    BEGIN
        SET @capacity = NULL;
        SELECT @capacity = {{.Capacity}} FROM {{.Slots}} WITH (UPDLOCK, HOLDLOCK) WHERE {{.Key}} = @slot;
        SELECT @live = COUNT_BIG(*) FROM {{.Bookings}} WITH (UPDLOCK, HOLDLOCK) WHERE {{.Slot}} = @slot{{.AndLive}};
        IF @live > @capacity
        BEGIN
            SET @said = CONCAT(N'slotkeeper/slot-full: slot ', @slot, N' has capacity ', @capacity);
            THROW 50000, @said, 1;
        END;
        SET @slot = (SELECT TOP (1) slot FROM @gained WHERE slot > @slot ORDER BY slot);
    END;
END;
