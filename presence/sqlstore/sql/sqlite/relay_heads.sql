-- Writes the heads of feeds that changed, or begin. Run after feed_lock.sql.
-- $1 tenant, $2 heads: a JSON array of [feed, born, rev, pos, unread, unseen, items, mail_at,
-- trim_at], by feed.
-- Returns nothing.
-- Cost: one written row for each feed.
INSERT INTO rollcall_feeds (tenant, feed, born, rev, pos, unread, unseen, items, mail_at, trim_at)
SELECT $1, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'), json_extract(value, '$[3]'),
  json_extract(value, '$[4]'), json_extract(value, '$[5]'), json_extract(value, '$[6]'), json_extract(value, '$[7]'),
  json_extract(value, '$[8]')
FROM json_each($2)
WHERE true -- or SQLite takes ON CONFLICT for a join
ON CONFLICT (tenant, feed) DO UPDATE SET
  rev = excluded.rev, pos = excluded.pos, unread = excluded.unread, unseen = excluded.unseen, items = excluded.items,
  mail_at = excluded.mail_at, trim_at = excluded.trim_at
