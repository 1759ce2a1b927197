-- Slotkeeper guard. It creates triggers and alters no table.
-- To be run with sqlcmd -b, or in SSMS, by a login that may ALTER the tables.
SET XACT_ABORT ON;
SET NOCOUNT ON;
SET QUOTED_IDENTIFIER ON;
SET ANSI_NULLS ON;
GO
BEGIN TRANSACTION;
GO
DROP TRIGGER IF EXISTS [dbo].[slotkeeper_overlap_RoomBookings];
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
CREATE TRIGGER [dbo].[slotkeeper_overlap_RoomBookings] ON [dbo].[RoomBookings]
AFTER INSERT, UPDATE
AS
-- Made by slotkeeper guard; change it there, not here.
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    IF EXISTS (SELECT 1 FROM deleted) AND NOT (UPDATE([RoomId]) OR UPDATE([FromTime]) OR UPDATE([ToTime]) OR UPDATE([Status]))
        RETURN;

    DECLARE @claimed TABLE (slot BIGINT NOT NULL PRIMARY KEY);
    INSERT INTO @claimed (slot)
    SELECT DISTINCT [RoomId] FROM inserted WHERE [RoomId] IS NOT NULL AND [Status] IN ('1');

    -- One resource after the other, ascending: the order in which every writer locks.
    DECLARE @slot BIGINT, @found BIGINT, @said NVARCHAR(2048);
    SET @slot = (SELECT TOP (1) slot FROM @claimed ORDER BY slot);
    WHILE @slot IS NOT NULL
    BEGIN
        SELECT @found = COUNT_BIG(*) FROM [dbo].[Rooms] WITH (UPDLOCK, HOLDLOCK) WHERE [Id] = @slot;
        -- A live row overlaps itself, so that one is its due and two are a conflict.
        -- A row that was live and took as much before is not judged again.
        IF EXISTS (SELECT 1 FROM inserted AS i
                   WHERE i.[RoomId] = @slot AND i.[Status] IN ('1')
                     AND NOT EXISTS (SELECT 1 FROM deleted AS d
                                     WHERE d.[Id] = i.[Id] AND d.[RoomId] = i.[RoomId] AND d.[Status] IN ('1')
                                       AND d.[FromTime] <= i.[FromTime] AND d.[ToTime] >= i.[ToTime])
                     AND 1 < (SELECT COUNT_BIG(*) FROM [dbo].[RoomBookings] AS b WITH (UPDLOCK, HOLDLOCK)
                              WHERE b.[RoomId] = @slot AND b.[FromTime] < i.[ToTime] AND i.[FromTime] < b.[ToTime] AND b.[Status] IN ('1')))
        BEGIN
            SET @said = CONCAT(N'slotkeeper/resource-busy: resource ', @slot, N' is taken at that time');
            THROW 50000, @said, 2;
        END;
        SET @slot = (SELECT TOP (1) slot FROM @claimed WHERE slot > @slot ORDER BY slot);
    END;
END;
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
COMMIT TRANSACTION;
GO
SET NOEXEC OFF;
GO
