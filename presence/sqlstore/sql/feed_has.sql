-- Whether a feed has an item.
-- $1 tenant, $2 feed, $3 the id of the item.
-- Returns one row: how many it has.
-- Cost: reads the feed, at most some 1,000 rows.
SELECT count(*)
FROM rollcall_items
WHERE tenant = $1 AND feed = $2 AND id = $3
