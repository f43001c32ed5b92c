-- Writes the heads of feeds that changed, or begin. Run after feed_lock.sql.
-- $1 tenant, $2 heads: a JSON array of [feed, born, rev, pos, unread, unseen, items, mail_at,
-- trim_at], by feed.
-- Returns nothing.
-- Cost: one written row for each feed.
INSERT INTO rollcall_feeds (tenant, feed, born, rev, pos, unread, unseen, items, mail_at, trim_at)
SELECT $1, e ->> 0, (e ->> 1)::bigint, (e ->> 2)::bigint, (e ->> 3)::bigint, (e ->> 4)::integer, (e ->> 5)::integer, (e ->> 6)::integer,
  (e ->> 7)::bigint, (e ->> 8)::bigint
FROM jsonb_array_elements($2::text::jsonb) AS e
ON CONFLICT (tenant, feed) DO UPDATE SET
  rev = excluded.rev, pos = excluded.pos, unread = excluded.unread, unseen = excluded.unseen, items = excluded.items,
  mail_at = excluded.mail_at, trim_at = excluded.trim_at
