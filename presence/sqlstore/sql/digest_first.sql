-- When the next digest of any tenant is due.
-- Returns one row: the database's time, and when the first digest is due; NULL for none.
-- Cost: a search of an index.
SELECT {{now}}, (SELECT min(mail_at) FROM rollcall_feeds WHERE mail_at IS NOT NULL)
