-- The feeds whose digest is due, locked until the transaction ends. Tenants take turns: each
-- tenant's first one comes before anybody's second.
-- $1 time, $2 the most feeds.
-- Returns tenant, feed, born, pos, mailing, mail_wait and claims, of each tenant by when they were due.
-- Cost: reads the heads that are due.
SELECT h.tenant, h.feed, h.born, h.pos, h.mailing, h.mail_wait, h.claims
FROM (
  SELECT tenant, feed, mail_at, row_number() OVER (PARTITION BY tenant ORDER BY mail_at, feed) AS nth
  FROM rollcall_feeds
  WHERE mail_at <= $1
) AS due
JOIN rollcall_feeds AS h ON h.tenant = due.tenant AND h.feed = due.feed AND h.mail_at <= $1
ORDER BY due.nth, due.mail_at, due.tenant, due.feed LIMIT $2
{{if postgres}}FOR NO KEY UPDATE OF h SKIP LOCKED{{end}}
