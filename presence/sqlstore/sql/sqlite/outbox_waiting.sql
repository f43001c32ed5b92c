-- How the outbox of all tenants stands.
-- Returns one row: how many messages wait, how many were given up, and for how many
-- milliseconds the oldest waits.
-- Cost: reads the outbox, which is empty most of the time.
SELECT count(due), count(*) - count(due), coalesce(CAST(round((julianday('now') - 2440587.5) * 86400000) AS integer) - min(CASE WHEN due IS NOT NULL THEN at END), 0)
FROM rollcall_outbox
