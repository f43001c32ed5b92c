-- The head of one feed.
-- $1 tenant, $2 feed.
-- Returns its row, or none if it has not begun.
-- Cost: a search of the primary key.
SELECT feed, rev, pos, floor, born, unread, unseen
FROM rollcall_feeds
WHERE tenant = $1 AND feed = $2
