-- The feeds whose digest is due, locked until the transaction ends. Tenants take turns: each
-- tenant's first one comes before anybody's second.
-- $1 time, $2 the most feeds.
-- Returns tenant, feed, born, pos, mailing, mail_wait and claims, of each tenant by when they were due.
-- Cost: reads the heads that are due.
SELECT tenant, feed, born, pos, mailing, mail_wait, claims
FROM (
  SELECT *, row_number() OVER (PARTITION BY tenant ORDER BY mail_at, feed) AS nth
  FROM rollcall_feeds
  WHERE mail_at <= $1
)
ORDER BY nth, mail_at, tenant, feed LIMIT $2
