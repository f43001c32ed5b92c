-- Ends a claim. Run after feed_lock.sql.
-- $1 tenant, $2 feed, $3 when the next digest is due, $4 the newest place of the digest if it
-- will be repeated, else 0, $5 for how many milliseconds it is put off, $6 whether it was
-- sent: 0 or 1. After that nothing is due if nothing is left for mail.
-- Returns nothing.
-- Cost: reads the unread items of the feed until one is for mail, and writes one row.
UPDATE rollcall_feeds SET mailing = $4, claims = claims + 1, mail_wait = $5, mail_at = CASE WHEN CAST($6 AS integer) = 0 OR EXISTS (
  SELECT 1 FROM rollcall_items AS i WHERE i.tenant = $1 AND i.feed = $2 AND i.state = 0 AND i.mail = 1
) THEN CAST($3 AS bigint) END
WHERE tenant = $1 AND feed = $2
