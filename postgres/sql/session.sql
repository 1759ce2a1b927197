-- $1 lock_timeout of this transaction, as '2500ms'. The statements that follow
-- have one good plan each; without a word the server would plan them anew each
-- time, which costs more than running them.
SELECT set_config('lock_timeout', $1, true), set_config('plan_cache_mode', 'force_generic_plan', true)
