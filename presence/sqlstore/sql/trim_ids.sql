-- The ids of messages of feeds, the oldest first. Run after trim_due.sql.
-- $1 tenant, $2 feeds: a JSON array, $3 the most ids of a feed.
-- Returns feed, id, at.
-- Cost: reads the ids of the feeds.
SELECT feed, id, at
FROM (
  SELECT feed, id, at, row_number() OVER (PARTITION BY feed ORDER BY at) AS nth
  FROM rollcall_ids
  WHERE tenant = $1 AND feed {{in "$2" "text"}}
) AS i
WHERE nth <= $3
ORDER BY feed, at
