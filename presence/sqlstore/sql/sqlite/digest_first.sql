-- When the next digest of any tenant is due.
-- Returns one row: the database's time, and when the first digest is due; NULL for none.
-- Cost: a search of an index.
SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS integer), (SELECT min(mail_at) FROM rollcall_feeds WHERE mail_at IS NOT NULL)
