-- Removes the head of a feed.
-- $1 tenant, $2 feed.
-- Returns nothing.
-- Cost: one removed row.
DELETE FROM rollcall_feeds WHERE tenant = $1 AND feed = $2
