-- $1 resource ids, locked. An exclusion constraint cannot know the time, so
-- expired holds go before it judges.
UPDATE bookings SET status = 'expired'
WHERE resource_id = ANY ($1::bigint[]) AND status = 'held' AND expires_at <= statement_timestamp()
