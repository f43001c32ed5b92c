-- How many items are unread above a place.
-- $1 tenant, $2 feed, $3 place.
-- Returns one row.
-- Cost: reads the unread items of the feed.
SELECT count(*)
FROM rollcall_items
WHERE tenant = $1 AND feed = $2 AND state = 0 AND pos > $3
