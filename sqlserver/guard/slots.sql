CREATE TRIGGER {{.Name}} ON {{.Slots}}
AFTER UPDATE
AS
-- Made by slotkeeper guard; change it there, not here.
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    IF NOT (UPDATE({{.Capacity}}) OR UPDATE({{.Key}}))
        RETURN;

    -- The slots whose capacity is lower than before this statement.
    DECLARE @lowered TABLE (slot {{.SlotType}} NOT NULL PRIMARY KEY, capacity BIGINT NOT NULL);
    INSERT INTO @lowered (slot, capacity)
    SELECT i.{{.Key}}, i.{{.Capacity}}
    FROM inserted AS i
    WHERE i.{{.Capacity}} IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM deleted AS d WHERE d.{{.Key}} = i.{{.Key}} AND d.{{.Capacity}} <= i.{{.Capacity}});

    DECLARE @slot {{.SlotVariable}}, @capacity BIGINT, @live BIGINT, @said NVARCHAR(2048);
    SET @slot = (SELECT TOP (1) slot FROM @lowered ORDER BY slot);
    WHILE @slot IS NOT NULL
    BEGIN
        SELECT @capacity = capacity FROM @lowered WHERE slot = @slot;
        SELECT @live = COUNT_BIG(*) FROM {{.Bookings}} WITH (UPDLOCK, HOLDLOCK) WHERE {{.Slot}} = @slot{{.AndLive}};
        IF @live > @capacity
        BEGIN
            SET @said = CONCAT(N'slotkeeper/capacity-below-reserved: slot ', @slot, N' reserved=', @live);
            THROW 50000, @said, 3;
        END;
        SET @slot = (SELECT TOP (1) slot FROM @lowered WHERE slot > @slot ORDER BY slot);
    END;
END;
