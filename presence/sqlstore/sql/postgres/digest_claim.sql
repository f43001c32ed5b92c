-- Claims digests, or ends them where nothing is to be mailed. Run after digest_due.sql.
-- $1 feeds: a JSON array of [tenant, feed, mail_at, mailing].
-- Returns nothing.
-- Cost: one written row for each feed.
UPDATE rollcall_feeds AS h SET mail_at = (e ->> 2)::bigint, mailing = (e ->> 3)::bigint, claims = h.claims + 1,
  mail_wait = CASE WHEN e ->> 2 IS NULL THEN 0 ELSE h.mail_wait END
FROM jsonb_array_elements($1::text::jsonb) AS e
WHERE h.tenant = e ->> 0 AND h.feed = e ->> 1
