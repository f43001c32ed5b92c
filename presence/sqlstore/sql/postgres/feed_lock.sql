-- Locks the heads of feeds until the transaction ends, in the order of their names, so that
-- two transactions never wait for each other.
-- $1 tenant, $2 feeds: a JSON array of names.
-- Returns the database's time and the head, for each feed that has begun.
-- Cost: a search of the primary key for each feed.
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint, feed, rev, pos, floor, born, unread, unseen, seen, items, mail_at, mailing, claims, trim_at
FROM rollcall_feeds
WHERE tenant = $1 AND feed = ANY (ARRAY(SELECT json_array_elements_text($2::text::json)))
ORDER BY feed
FOR NO KEY UPDATE
