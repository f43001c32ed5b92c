-- Locks the heads of feeds until the transaction ends, in the order of their names, so that
-- two transactions never wait for each other.
-- $1 tenant, $2 feeds: a JSON array of names.
-- Returns the database's time and the head, for each feed that has begun.
-- Cost: a search of the primary key for each feed.
SELECT {{now}}, feed, rev, pos, floor, born, unread, unseen, seen, items, mail_at, mailing, claims, trim_at
FROM rollcall_feeds
WHERE tenant = $1 AND feed {{in "$2" "text"}}
ORDER BY feed
{{if postgres}}FOR NO KEY UPDATE{{end}}
