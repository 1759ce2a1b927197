-- Applied migrations have a row each; a migration that went back has none.
SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied = 1;
