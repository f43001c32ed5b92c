-- Claims digests, or ends them where nothing is to be mailed. Run after digest_due.sql.
-- $1 feeds: a JSON array of [tenant, feed, mail_at, mailing].
-- Returns nothing.
-- Cost: one written row for each feed.
INSERT INTO rollcall_feeds (tenant, feed, born, mail_at, mailing)
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), 0, json_extract(value, '$[2]'), json_extract(value, '$[3]')
FROM json_each($1)
WHERE true -- or SQLite takes ON CONFLICT for a join
ON CONFLICT (tenant, feed) DO UPDATE SET mail_at = excluded.mail_at, mailing = excluded.mailing, claims = claims + 1,
  mail_wait = CASE WHEN excluded.mail_at IS NULL THEN 0 ELSE mail_wait END
