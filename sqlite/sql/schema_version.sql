-- The newest migration that is applied; the table is the migration library's.
SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied
