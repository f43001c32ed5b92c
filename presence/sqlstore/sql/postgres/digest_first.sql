-- When the next digest of any tenant is due.
-- Returns one row: the database's time, and when the first digest is due; NULL for none.
-- Cost: a search of an index.
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint, (SELECT min(mail_at) FROM rollcall_feeds WHERE mail_at IS NOT NULL)
