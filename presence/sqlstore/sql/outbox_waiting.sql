-- How the outbox of all tenants stands.
-- Returns one row: how many messages wait, how many were given up, and for how many
-- milliseconds the one that is due for longest is due.
-- Cost: reads the outbox, which is empty most of the time.
SELECT count(due), count(*) - count(due), coalesce({{now}} - min(CASE WHEN due > at THEN due WHEN due IS NOT NULL THEN at END), 0)
FROM rollcall_outbox
