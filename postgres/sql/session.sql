-- $1 lock_timeout of this transaction, as '2500ms', and one plan a statement,
-- where a pooler between keeps both from being the connection's own.
SELECT set_config('lock_timeout', $1, true), set_config('plan_cache_mode', 'force_generic_plan', true)
