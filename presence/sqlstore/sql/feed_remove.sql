-- Takes an item of a room back: what it said is gone. Run after feed_lock.sql.
-- $1 tenant, $2 feed, $3 the id of the item, $4 revision.
-- Returns nothing.
-- Cost: reads the feed, at most some 1,000 rows, and writes one.
UPDATE rollcall_items SET rev = $4, state = 3
WHERE tenant = $1 AND feed = $2 AND id = $3 AND state <> 3
