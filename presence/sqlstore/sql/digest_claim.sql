-- Claims digests, or ends them where nothing is to be mailed. Run after digest_due.sql.
-- $1 feeds: a JSON array of [tenant, feed, mail_at, mailing].
-- Returns nothing.
-- Cost: one written row for each feed.
UPDATE rollcall_feeds AS h SET mail_at = CAST(e.value ->> 2 AS bigint), mailing = CAST(e.value ->> 3 AS bigint), claims = h.claims + 1,
  mail_wait = CASE WHEN e.value ->> 2 IS NULL THEN 0 ELSE h.mail_wait END
FROM {{each "$1"}}
WHERE h.tenant = e.value ->> 0 AND h.feed = e.value ->> 1
