-- ?1 slot id. What is no longer live does not keep a slot.
DELETE FROM reservations WHERE slot_id = ?1 AND status NOT IN ('held', 'confirmed')
