CREATE TRIGGER {{.Name}} ON {{.Bookings}}
AFTER INSERT, UPDATE
AS
-- Made by slotkeeper guard; change it there, not here.
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    IF EXISTS (SELECT 1 FROM deleted) AND NOT (UPDATE({{.Slot}}) OR UPDATE({{.Start}}) OR UPDATE({{.End}}){{if .Status}} OR UPDATE({{.Status}}){{end}})
        RETURN;

    DECLARE @claimed TABLE (slot {{.SlotType}} NOT NULL PRIMARY KEY);
    INSERT INTO @claimed (slot)
    SELECT DISTINCT {{.Slot}} FROM inserted WHERE {{.Slot}} IS NOT NULL{{.AndLive}};

    -- One resource after the other, ascending: the order in which every writer locks.
    DECLARE @slot {{.SlotVariable}}, @found BIGINT, @said NVARCHAR(2048);
    SET @slot = (SELECT TOP (1) slot FROM @claimed ORDER BY slot);
    WHILE @slot IS NOT NULL
    BEGIN
        SELECT @found = COUNT_BIG(*) FROM {{.Slots}} WITH (UPDLOCK, HOLDLOCK) WHERE {{.Key}} = @slot;
        -- A live row overlaps itself, so that one is its due and two are a conflict.{{if .RowKey}}
        -- A row that was live and took as much before is not judged again.{{end}}
        IF EXISTS (SELECT 1 FROM inserted AS i
                   WHERE i.{{.Slot}} = @slot{{.AndLiveI}}{{if .RowKey}}
                     AND NOT EXISTS (SELECT 1 FROM deleted AS d
                                     WHERE d.{{.RowKey}} = i.{{.RowKey}} AND d.{{.Slot}} = i.{{.Slot}}{{.AndLiveD}}
                                       AND d.{{.Start}} <= i.{{.Start}} AND d.{{.End}} >= i.{{.End}}){{end}}
                     AND 1 < (SELECT COUNT_BIG(*) FROM {{.Bookings}} AS b WITH (UPDLOCK, HOLDLOCK)
                              WHERE b.{{.Slot}} = @slot AND b.{{.Start}} < i.{{.End}} AND i.{{.Start}} < b.{{.End}}{{.AndLiveB}}))
        BEGIN
            SET @said = CONCAT(N'slotkeeper/resource-busy: resource ', @slot, N' is taken at that time');
            THROW 50000, @said, 2;
        END;
        SET @slot = (SELECT TOP (1) slot FROM @claimed WHERE slot > @slot ORDER BY slot);
    END;
END;
