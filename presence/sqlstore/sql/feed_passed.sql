-- Notes when the mark "seen" passed items. Run after feed_lock.sql.
-- $1 tenant, $2 feed, $3 the place where the mark was, $4 where it is now, $5 the time.
-- Returns nothing.
-- Cost: reads the feed, at most some 1,000 rows, or a part of it, and writes what it finds: each item
-- once in its life, unless a message joins it.
UPDATE rollcall_items SET seen_at = $5
WHERE tenant = $1 AND feed = $2 AND pos > $3 AND pos <= $4
