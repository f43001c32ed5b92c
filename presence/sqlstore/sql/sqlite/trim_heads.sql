-- Writes the heads of feeds after a look at their rows. Run after trim_due.sql.
-- $1 tenant, $2 feeds: a JSON array of [feed, whether items were removed: 0 or 1, when to look again].
-- Returns nothing. Without removed items nothing changes but the time. With them the feed has a
-- new revision, the counters are what the rows give, and older revisions need a page.
-- Cost: reads the items of the feeds that have fewer, and writes a row for each feed.
INSERT INTO rollcall_feeds (tenant, feed, born, items, trim_at)
SELECT $1, json_extract(value, '$[0]'), 0, json_extract(value, '$[1]'), json_extract(value, '$[2]')
FROM json_each($2)
WHERE true -- or SQLite takes ON CONFLICT for a join
ON CONFLICT (tenant, feed) DO UPDATE SET trim_at = excluded.trim_at, rev = rev + excluded.items,
  floor = CASE WHEN excluded.items = 1 THEN rev + 1 ELSE floor END,
  unread = CASE WHEN excluded.items = 1 THEN (SELECT count(*) FROM rollcall_items AS i WHERE i.tenant = $1 AND i.feed = excluded.feed AND i.state = 0) ELSE unread END,
  unseen = CASE WHEN excluded.items = 1 THEN (SELECT count(*) FROM rollcall_items AS i WHERE i.tenant = $1 AND i.feed = excluded.feed AND i.state = 0 AND i.pos > rollcall_feeds.seen) ELSE unseen END,
  items = CASE WHEN excluded.items = 1 THEN (SELECT count(*) FROM rollcall_items AS i WHERE i.tenant = $1 AND i.feed = excluded.feed) ELSE items END
