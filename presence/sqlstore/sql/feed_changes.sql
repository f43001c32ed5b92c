-- What changed in feeds of any tenants after revisions, from one moment.
-- $1 feeds: a JSON array of [tenant, name, revision, born], where born is 0 for a reader of a
-- feed that had not begun, at most 1,000, $2 the most items of a feed.
-- Returns rows with the place in $1, the head and an item, for each feed that has begun. Where nothing changed,
-- or where a page must be taken, the item is NULL. One item more than the most says that there
-- are too many.
-- Cost: a search of the primary key for each feed, and a range of the index of revisions.
{{if postgres}}
SELECT h.feed, h.rev, h.pos, h.floor, h.born, h.unread, h.unseen, e.nth, i.pos, i.rev, i.id, i.type, i.v, i.at, i.actors, i.others, i.n, i.about, i.grp, i.text, i.url, i.data, i.mail, i.state, i.seen_at, i.read_at
FROM jsonb_array_elements($1::text::jsonb) WITH ORDINALITY AS e (s, nth)
CROSS JOIN LATERAL (
  SELECT * FROM rollcall_feeds AS f
  WHERE f.tenant = s ->> 0 AND f.feed = s ->> 1
  LIMIT 1 -- or a plan for few feeds reads them all when there are many
) AS h
LEFT JOIN LATERAL (
  SELECT * FROM rollcall_items AS c
  WHERE c.tenant = h.tenant AND c.feed = h.feed AND c.rev > (s ->> 2)::bigint
    AND h.rev > (s ->> 2)::bigint AND h.floor <= (s ->> 2)::bigint AND (s ->> 3)::bigint IN (h.born, 0)
  LIMIT $2::integer + 1
) AS i ON true
{{else}}
SELECT h.feed, h.rev, h.pos, h.floor, h.born, h.unread, h.unseen, h.nth, i.pos, i.rev, i.id, i.type, i.v, i.at, i.actors, i.others, i.n, i.about, i.grp, i.text, i.url, i.data, i.mail, i.state, i.seen_at, i.read_at
FROM (
  SELECT f.*, s.key + 1 AS nth, json_extract(s.value, '$[2]') AS have, f.rev > json_extract(s.value, '$[2]')
    AND f.floor <= json_extract(s.value, '$[2]') AND json_extract(s.value, '$[3]') IN (f.born, 0) AS same
  FROM json_each($1) AS s
  CROSS JOIN rollcall_feeds AS f
  WHERE f.tenant = json_extract(s.value, '$[0]') AND f.feed = json_extract(s.value, '$[1]')
) AS h
LEFT JOIN rollcall_items AS i ON i.tenant = h.tenant AND i.feed = h.feed AND i.rev > CASE WHEN h.same THEN h.have END
  AND i.rev <= coalesce((
    SELECT c.rev FROM rollcall_items AS c
    WHERE c.tenant = h.tenant AND c.feed = h.feed AND c.rev > h.have
    ORDER BY c.rev LIMIT 1 OFFSET $2
  ), h.rev)
{{end}}
ORDER BY 8, i.pos DESC
