-- Changes the state of the items at some places of a feed. Run after feed_lock.sql.
-- $1 tenant, $2 feed, $3 state, $4 revision, $5 places: a JSON array, at most 100.
-- Returns nothing.
-- Cost: a search of the primary key for each place.
UPDATE rollcall_items SET state = $3, rev = $4
WHERE tenant = $1 AND feed = $2 AND state <> 3 AND state <> $3
  AND pos IN (SELECT value FROM json_each($5))
