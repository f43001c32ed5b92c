-- What is in digests. Run after digest_due.sql.
-- $1 feeds: a JSON array of [tenant, feed, place], $2 the most items of a feed.
-- Returns for each feed its unread items for mail up to that place, the newest first, each with the feed's place in $1
-- and how many there are.
-- Cost: reads the unread items of the feeds.
{{if postgres}}
SELECT e.nth, i.total, i.pos, i.rev, i.id, i.type, i.v, i.at, i.actors, i.others, i.n, i.about, i.grp, i.text, i.url, i.data, i.mail, i.state, i.seen_at, i.read_at
FROM jsonb_array_elements($1::text::jsonb) WITH ORDINALITY AS e (f, nth)
CROSS JOIN LATERAL (
  SELECT u.*, count(*) OVER () AS total FROM rollcall_items AS u
  WHERE u.tenant = f ->> 0 AND u.feed = f ->> 1 AND u.state = 0 AND u.mail = 1 AND u.pos <= (f ->> 2)::bigint
  ORDER BY u.pos DESC LIMIT $2
) AS i
ORDER BY e.nth, i.pos DESC
{{else}}
SELECT i.key + 1, i.total, i.pos, i.rev, i.id, i.type, i.v, i.at, i.actors, i.others, i.n, i.about, i.grp, i.text, i.url, i.data, i.mail, i.state, i.seen_at, i.read_at
FROM (
  SELECT u.*, e.key, count(*) OVER (PARTITION BY e.key) AS total, row_number() OVER (PARTITION BY e.key ORDER BY u.pos DESC) AS nth
  FROM json_each($1) AS e
  CROSS JOIN rollcall_items AS u
  WHERE u.tenant = json_extract(e.value, '$[0]') AND u.feed = json_extract(e.value, '$[1]') AND u.state = 0 AND u.mail = 1
    AND u.pos <= json_extract(e.value, '$[2]')
) AS i
WHERE i.nth <= $2
ORDER BY i.key, i.pos DESC
{{end}}
