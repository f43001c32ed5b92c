-- Changes the state of all listed items of a feed up to a place. Run after feed_lock.sql.
-- $1 tenant, $2 feed, $3 state, $4 revision, $5 place, $6 the time.
-- Returns nothing.
-- Cost: reads the feed, at most some 1,000 rows, and writes those that change.
UPDATE rollcall_items SET state = $3, rev = $4,
  read_at = CASE WHEN $3 = 0 THEN 0 WHEN $3 = 1 AND (state = 0 OR read_at = 0) THEN $6 ELSE read_at END
WHERE tenant = $1 AND feed = $2 AND pos <= $5 AND state <= 1 AND state <> $3
