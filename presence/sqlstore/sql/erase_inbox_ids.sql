-- Removes the ids of messages to a feed.
-- $1 tenant, $2 feed.
-- Returns nothing.
-- Cost: the rows of the feed.
DELETE FROM rollcall_ids WHERE tenant = $1 AND feed = $2
