-- How the outbox of all tenants stands.
-- Returns one row: how many messages wait, how many were given up, and for how many
-- milliseconds the one that is due for longest is due.
-- Cost: reads the outbox, which is empty most of the time.
SELECT count(due), count(*) - count(due), coalesce((extract(epoch FROM clock_timestamp()) * 1000)::bigint - min(CASE WHEN due IS NOT NULL THEN greatest(at, due) END), 0)
FROM rollcall_outbox
