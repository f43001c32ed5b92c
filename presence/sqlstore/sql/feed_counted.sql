-- Writes a head anew: the counters are what the rows give. Run after feed_lock.sql.
-- $1 tenant, $2 feed, $3 revision, $4 seen, $5 when to look for rows to trim: the earlier time
-- holds, NULL changes nothing.
-- Returns the head.
-- Cost: reads the unread items of the feed, and writes one row.
UPDATE rollcall_feeds SET
  rev = $3, seen = $4, unread = c.unread, unseen = c.unseen,
  trim_at = CASE WHEN CAST($5 AS bigint) < coalesce(trim_at, CAST($5 AS bigint) + 1) THEN CAST($5 AS bigint) ELSE trim_at END
FROM (
  SELECT count(*) AS unread, count(*) FILTER (WHERE i.pos > $4) AS unseen
  FROM rollcall_items AS i
  WHERE i.tenant = $1 AND i.feed = $2 AND i.state = 0
) AS c
WHERE tenant = $1 AND feed = $2
RETURNING feed, rev, pos, floor, born, rollcall_feeds.unread, rollcall_feeds.unseen
