-- Changes the state of all unread items about something. Run after feed_lock.sql.
-- $1 tenant, $2 feed, $3 state, $4 revision, $5 place: none above it, $6 what they are about, $7 the time.
-- Returns nothing.
-- Cost: a range of the index of unread items, of which it writes all. Without statistics SQLite would read the feed.
UPDATE rollcall_items{{if sqlite}} INDEXED BY rollcall_items_unread{{end}} SET state = $3, rev = $4, read_at = $7
WHERE tenant = $1 AND feed = $2 AND state = 0 AND about = $6 AND pos <= $5
