-- The ids of messages of feeds, the oldest first. Run after trim_due.sql.
-- $1 tenant, $2 feeds: a JSON array, $3 the most ids of a feed.
-- Returns feed, id, at.
-- Cost: reads the ids of the feeds.
SELECT feed, id, at
FROM (
  SELECT d.feed, d.id, d.at, row_number() OVER (PARTITION BY d.feed ORDER BY d.at) AS nth
  FROM json_each($2) AS e
  CROSS JOIN rollcall_ids AS d
  WHERE d.tenant = $1 AND d.feed = e.value
)
WHERE nth <= $3
ORDER BY feed, at
