-- Before every batch. A pooled connection keeps what its last user set, so each
-- batch says what it needs. Of two that deadlock ours is the one given up.
-- LOCK_TIMEOUT follows, from the options.
SET NOCOUNT ON;
SET XACT_ABORT ON;
SET DEADLOCK_PRIORITY LOW;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
