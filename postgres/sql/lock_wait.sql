-- $1 lock_timeout of this transaction, as '2500ms'
SELECT set_config('lock_timeout', $1, true)
