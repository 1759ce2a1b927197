-- Slotkeeper guard. It creates triggers and alters no table.
-- To be run with sqlcmd -b, or in SSMS, by a login that may ALTER the tables.
SET XACT_ABORT ON;
SET NOCOUNT ON;
SET QUOTED_IDENTIFIER ON;
SET ANSI_NULLS ON;
GO
BEGIN TRANSACTION;
GO
DROP TRIGGER IF EXISTS [Praxis; DROP TABLE x --].[slotkeeper_capacity_Termine]]' GO */ 予約];
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
CREATE TRIGGER [Praxis; DROP TABLE x --].[slotkeeper_capacity_Termine]]' GO */ 予約] ON [Praxis; DROP TABLE x --].[Termine]]' GO */ 予約]
AFTER INSERT, UPDATE
AS
-- Made by slotkeeper guard; change it there, not here.
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    IF EXISTS (SELECT 1 FROM deleted) AND NOT (UPDATE([Slot]]; DELETE x --]) OR UPDATE([Zu'stand]))
        RETURN;

    -- The slots that have more live rows than before this statement.
    DECLARE @gained TABLE (slot NVARCHAR(40) COLLATE Latin1_General_CI_AS NOT NULL PRIMARY KEY);
    INSERT INTO @gained (slot)
    SELECT moved.slot
    FROM (SELECT [Slot]]; DELETE x --] AS slot, 1 AS n FROM inserted WHERE [Slot]]; DELETE x --] IS NOT NULL AND [Zu'stand] IN ('o''k', N'予約', '''; DROP TABLE y --')
          UNION ALL
          SELECT [Slot]]; DELETE x --], -1 FROM deleted WHERE [Slot]]; DELETE x --] IS NOT NULL AND [Zu'stand] IN ('o''k', N'予約', '''; DROP TABLE y --')) AS moved
    GROUP BY moved.slot
    HAVING SUM(moved.n) > 0;

    -- One slot after the other, ascending: the order in which every writer locks.
    DECLARE @slot NVARCHAR(40), @capacity BIGINT, @live BIGINT, @said NVARCHAR(2048);
    SET @slot = (SELECT TOP (1) slot FROM @gained ORDER BY slot);
    WHILE @slot IS NOT NULL
    BEGIN
        SET @capacity = NULL;
        SELECT @capacity = [max -- Plätze] FROM [a.b].[Sitzung "]]] WITH (UPDLOCK, HOLDLOCK) WHERE [Schlüssel [1]]] = @slot;
        SELECT @live = COUNT_BIG(*) FROM [Praxis; DROP TABLE x --].[Termine]]' GO */ 予約] WITH (UPDLOCK, HOLDLOCK) WHERE [Slot]]; DELETE x --] = @slot AND [Zu'stand] IN ('o''k', N'予約', '''; DROP TABLE y --');
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
DROP TRIGGER IF EXISTS [a.b].[slotkeeper_slots_Sitzung "]]];
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
CREATE TRIGGER [a.b].[slotkeeper_slots_Sitzung "]]] ON [a.b].[Sitzung "]]]
AFTER UPDATE
AS
-- Made by slotkeeper guard; change it there, not here.
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    IF NOT (UPDATE([max -- Plätze]) OR UPDATE([Schlüssel [1]]]))
        RETURN;

    -- The slots whose capacity is lower than before this statement.
    DECLARE @lowered TABLE (slot NVARCHAR(40) COLLATE Latin1_General_CI_AS NOT NULL PRIMARY KEY, capacity BIGINT NOT NULL);
    INSERT INTO @lowered (slot, capacity)
    SELECT i.[Schlüssel [1]]], i.[max -- Plätze]
    FROM inserted AS i
    WHERE i.[max -- Plätze] IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM deleted AS d WHERE d.[Schlüssel [1]]] = i.[Schlüssel [1]]] AND d.[max -- Plätze] <= i.[max -- Plätze]);

    DECLARE @slot NVARCHAR(40), @capacity BIGINT, @live BIGINT, @said NVARCHAR(2048);
    SET @slot = (SELECT TOP (1) slot FROM @lowered ORDER BY slot);
    WHILE @slot IS NOT NULL
    BEGIN
        SELECT @capacity = capacity FROM @lowered WHERE slot = @slot;
        SELECT @live = COUNT_BIG(*) FROM [Praxis; DROP TABLE x --].[Termine]]' GO */ 予約] WITH (UPDLOCK, HOLDLOCK) WHERE [Slot]]; DELETE x --] = @slot AND [Zu'stand] IN ('o''k', N'予約', '''; DROP TABLE y --');
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
