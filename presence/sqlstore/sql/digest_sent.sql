-- Notes that items were in a digest. Run after feed_lock.sql.
-- $1 tenant, $2 feed, $3 the newest place of the digest, $4 ids of items: a JSON array.
-- Returns nothing.
-- Cost: reads the feed, at most some 1,000 rows, and writes the items.
UPDATE rollcall_items SET mail = 2
WHERE tenant = $1 AND feed = $2 AND mail = 1
  AND (pos <= $3 OR id {{in "$4" "text"}})
