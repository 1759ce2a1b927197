-- Slotkeeper guard. It creates triggers and alters no table.
-- To be run with sqlcmd -b, or in SSMS, by a login that may ALTER the tables.
SET XACT_ABORT ON;
SET NOCOUNT ON;
SET QUOTED_IDENTIFIER ON;
SET ANSI_NULLS ON;
GO
BEGIN TRANSACTION;
GO
DROP TRIGGER IF EXISTS [dbo].[slotkeeper_capacity_Appointments];
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
CREATE TRIGGER [dbo].[slotkeeper_capacity_Appointments] ON [dbo].[Appointments]
AFTER INSERT, UPDATE
AS
-- Made by slotkeeper guard; change it there, not here.
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    IF EXISTS (SELECT 1 FROM deleted) AND NOT (UPDATE([SlotId]) OR UPDATE([Status]))
        RETURN;

    -- The slots that have more live rows than before this statement.
    DECLARE @gained TABLE (slot BIGINT NOT NULL PRIMARY KEY);
    INSERT INTO @gained (slot)
    SELECT moved.slot
    FROM (SELECT [SlotId] AS slot, 1 AS n FROM inserted WHERE [SlotId] IS NOT NULL AND [Status] IN ('Booked', 'CheckedIn')
          UNION ALL
          SELECT [SlotId], -1 FROM deleted WHERE [SlotId] IS NOT NULL AND [Status] IN ('Booked', 'CheckedIn')) AS moved
    GROUP BY moved.slot
    HAVING SUM(moved.n) > 0;

    -- One slot after the other, ascending: the order in which every writer locks.
    DECLARE @slot BIGINT, @capacity BIGINT, @live BIGINT, @said NVARCHAR(2048);
    SET @slot = (SELECT TOP (1) slot FROM @gained ORDER BY slot);
    WHILE @slot IS NOT NULL
    BEGIN
        SET @capacity = NULL;
        SELECT @capacity = [MaxPatients] FROM [dbo].[Sessions] WITH (UPDLOCK, HOLDLOCK) WHERE [Id] = @slot;
        SELECT @live = COUNT_BIG(*) FROM [dbo].[Appointments] WITH (UPDLOCK, HOLDLOCK) WHERE [SlotId] = @slot AND [Status] IN ('Booked', 'CheckedIn');
        IF @live > @capacity
        BEGIN
            SET @said = CONCAT(N'slotkeeper/slot-full: slot ', @slot, N' has capacity ', @capacity);
            THROW 50000, @said, 1;
        END;
        SET @slot = (SELECT TOP (1) slot FROM @gained WHERE slot > @slot ORDER BY slot);
    END;
END;
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP TRIGGER IF EXISTS [dbo].[slotkeeper_slots_Sessions];
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
CREATE TRIGGER [dbo].[slotkeeper_slots_Sessions] ON [dbo].[Sessions]
AFTER UPDATE
AS
-- Made by slotkeeper guard; change it there, not here.
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    IF NOT (UPDATE([MaxPatients]) OR UPDATE([Id]))
        RETURN;

    -- The slots whose capacity is lower than before this statement.
    DECLARE @lowered TABLE (slot BIGINT NOT NULL PRIMARY KEY, capacity BIGINT NOT NULL);
    INSERT INTO @lowered (slot, capacity)
    SELECT i.[Id], i.[MaxPatients]
    FROM inserted AS i
    WHERE i.[MaxPatients] IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM deleted AS d WHERE d.[Id] = i.[Id] AND d.[MaxPatients] <= i.[MaxPatients]);

    DECLARE @slot BIGINT, @capacity BIGINT, @live BIGINT, @said NVARCHAR(2048);
    SET @slot = (SELECT TOP (1) slot FROM @lowered ORDER BY slot);
    WHILE @slot IS NOT NULL
    BEGIN
        SELECT @capacity = capacity FROM @lowered WHERE slot = @slot;
        SELECT @live = COUNT_BIG(*) FROM [dbo].[Appointments] WITH (UPDLOCK, HOLDLOCK) WHERE [SlotId] = @slot AND [Status] IN ('Booked', 'CheckedIn');
        IF @live > @capacity
        BEGIN
            SET @said = CONCAT(N'slotkeeper/capacity-below-reserved: slot ', @slot, N' reserved=', @live);
            THROW 50000, @said, 3;
        END;
        SET @slot = (SELECT TOP (1) slot FROM @lowered WHERE slot > @slot ORDER BY slot);
    END;
END;
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
COMMIT TRANSACTION;
GO
SET NOEXEC OFF;
GO
