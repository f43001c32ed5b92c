-- Replaces what an item of a room says. Run after feed_lock.sql.
-- $1 tenant, $2 feed, $3 the id of the item, $4 revision, $5 type, $6 v, $7 text, $8 url, $9 data.
-- Returns nothing.
-- Cost: reads the feed, at most some 1,000 rows, and writes one.
UPDATE rollcall_items SET rev = $4, type = $5, v = $6, text = $7, url = $8, data = $9
WHERE tenant = $1 AND feed = $2 AND id = $3 AND state <> 3
