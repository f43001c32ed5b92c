-- Writes the heads of feeds that changed, or begin. Run after feed_lock.sql.
-- $1 tenant, $2 heads: a JSON array of [feed, born, rev, pos, unread, unseen, items, mail_at,
-- trim_at], by feed.
-- Returns nothing.
-- Cost: one written row for each feed.
INSERT INTO rollcall_feeds (tenant, feed, born, rev, pos, unread, unseen, items, mail_at, trim_at)
SELECT $1, e.value ->> 0, CAST(e.value ->> 1 AS bigint), CAST(e.value ->> 2 AS bigint), CAST(e.value ->> 3 AS bigint), CAST(e.value ->> 4 AS integer), CAST(e.value ->> 5 AS integer), CAST(e.value ->> 6 AS integer),
  CAST(e.value ->> 7 AS bigint), CAST(e.value ->> 8 AS bigint)
FROM {{each "$2"}}
WHERE true -- or SQLite takes ON CONFLICT for a join
ON CONFLICT (tenant, feed) DO UPDATE SET
  rev = excluded.rev, pos = excluded.pos, unread = excluded.unread, unseen = excluded.unseen, items = excluded.items,
  mail_at = excluded.mail_at, trim_at = excluded.trim_at
