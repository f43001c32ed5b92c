-- The items of feeds, the oldest first. Run after trim_due.sql.
-- $1 tenant, $2 feeds: a JSON array.
-- Returns feed, pos, id, at, state.
-- Cost: reads the feeds.
SELECT feed, pos, id, at, state
FROM rollcall_items
WHERE tenant = $1 AND feed {{in "$2" "text"}}
ORDER BY feed, pos
