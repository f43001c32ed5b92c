-- How the outbox of all tenants stands.
-- Returns one row: how many messages wait, how many were given up, and for how many
-- milliseconds the oldest waits.
-- Cost: reads the outbox, which is empty most of the time.
SELECT count(due), count(*) - count(due), coalesce((extract(epoch FROM clock_timestamp()) * 1000)::bigint - min(CASE WHEN due IS NOT NULL THEN at END), 0)
FROM rollcall_outbox
