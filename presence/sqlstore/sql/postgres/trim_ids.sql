-- The ids of messages of feeds, the oldest first. Run after trim_due.sql.
-- $1 tenant, $2 feeds: a JSON array, $3 the most ids of a feed.
-- Returns feed, id, at.
-- Cost: reads the ids of the feeds.
SELECT i.feed, i.id, i.at
FROM json_array_elements_text($2::text::json) AS e
CROSS JOIN LATERAL (
  SELECT * FROM rollcall_ids AS d
  WHERE d.tenant = $1 AND d.feed = e
  ORDER BY d.at LIMIT $3
) AS i
ORDER BY i.feed, i.at
