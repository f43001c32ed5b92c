-- Writes the heads of feeds after a look at their rows. Run after trim_due.sql.
-- $1 tenant, $2 feeds: a JSON array of [feed, whether items were removed: 0 or 1, when to look again].
-- Returns nothing. Without removed items nothing changes but the time. With them the feed has a
-- new revision, the counters are what the rows give, and older revisions need a page.
-- Cost: reads the items of the feeds that have fewer, and writes a row for each feed.
WITH e AS MATERIALIZED ( -- or SQLite reads the tenant's feeds
  SELECT e.value ->> 0 AS feed, CAST(e.value ->> 1 AS integer) AS fewer, CAST(e.value ->> 2 AS bigint) AS look
  FROM {{each "$2"}}
)
UPDATE rollcall_feeds AS h SET trim_at = e.look, rev = h.rev + e.fewer,
  floor = CASE WHEN e.fewer = 1 THEN h.rev + 1 ELSE h.floor END,
  unread = CASE WHEN e.fewer = 1 THEN (SELECT count(*) FROM rollcall_items AS i WHERE i.tenant = $1 AND i.feed = h.feed AND i.state = 0) ELSE h.unread END,
  unseen = CASE WHEN e.fewer = 1 THEN (SELECT count(*) FROM rollcall_items AS i WHERE i.tenant = $1 AND i.feed = h.feed AND i.state = 0 AND i.pos > h.seen) ELSE h.unseen END,
  items = CASE WHEN e.fewer = 1 THEN (SELECT count(*) FROM rollcall_items AS i WHERE i.tenant = $1 AND i.feed = h.feed) ELSE h.items END
FROM e
WHERE h.tenant = $1 AND h.feed = e.feed
