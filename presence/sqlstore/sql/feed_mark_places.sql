-- Changes the state of the items at some places of a feed. Run after feed_lock.sql.
-- $1 tenant, $2 feed, $3 state, $4 revision, $5 places: a JSON array, at most 100, $6 the time.
-- Returns nothing.
-- Cost: a search of the primary key for each place.
UPDATE rollcall_items SET state = $3, rev = $4,
  read_at = CASE WHEN $3 = 0 THEN 0 WHEN $3 = 1 AND (state = 0 OR read_at = 0) THEN $6 ELSE read_at END
WHERE tenant = $1 AND feed = $2 AND state <> 3 AND state <> $3
  AND pos {{in "$5" "bigint"}}
