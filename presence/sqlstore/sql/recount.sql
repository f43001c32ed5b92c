-- The counters of feeds of any tenants beside what their rows give, from one moment.
-- $1 and $2 after this tenant's feed, $3 the most feeds.
-- Returns tenant, feed, and whether a counter is wrong: 0 or 1; by tenant and feed.
-- Cost: reads the heads and the items of the feeds.
SELECT h.tenant, h.feed, CASE WHEN h.unread = (SELECT count(*) FROM rollcall_items AS i WHERE i.tenant = h.tenant AND i.feed = h.feed AND i.state = 0)
  AND h.unseen = (SELECT count(*) FROM rollcall_items AS i WHERE i.tenant = h.tenant AND i.feed = h.feed AND i.state = 0 AND i.pos > h.seen)
  THEN 0 ELSE 1 END
FROM rollcall_feeds AS h
WHERE (h.tenant, h.feed) > ($1, $2)
ORDER BY h.tenant, h.feed LIMIT $3
