-- Locks feeds of one tenant that may have rows to trim until the transaction ends, in the order of their
-- names: of the first tenant that has any.
-- $1 time, $2 the most items of a feed, $3 and $4 after this tenant's feed, $5 the most feeds.
-- Returns tenant, feed.
-- Cost: reads the heads of all tenants up to the first such feed, and those of its tenant.
SELECT tenant, feed
FROM rollcall_feeds
WHERE (tenant, feed) > ($3, $4) AND (trim_at <= $1 OR items > $2) AND tenant = (
  SELECT d.tenant FROM rollcall_feeds AS d
  WHERE (d.tenant, d.feed) > ($3, $4) AND (d.trim_at <= $1 OR d.items > $2)
  ORDER BY d.tenant, d.feed LIMIT 1
)
ORDER BY tenant, feed LIMIT $5
{{if postgres}}FOR NO KEY UPDATE{{end}}
