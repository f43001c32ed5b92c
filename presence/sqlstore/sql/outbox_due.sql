-- The messages that are due: the oldest of few recipients, and the two oldest of many.
-- $1 tenant, $2 time, $3 the most messages of few recipients.
-- Returns id, message, bulk, due, tries, in any order.
-- Cost: two ranges of an index.
SELECT * FROM (
  SELECT id, substr(message, 1, 1048577) AS message, bulk, due, tries FROM rollcall_outbox
  WHERE tenant = $1 AND bulk = 0 AND due <= $2
  ORDER BY due, id LIMIT $3
) AS few
UNION ALL
SELECT * FROM (
  SELECT id, substr(message, 1, 1048577) AS message, bulk, due, tries FROM rollcall_outbox
  WHERE tenant = $1 AND bulk = 1 AND due <= $2
  ORDER BY due, id LIMIT 2
) AS many
