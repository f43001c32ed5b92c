-- The heads of feeds of any tenants.
-- $1 feeds: a JSON array of [tenant, name], at most 1,000.
-- Returns a row for each feed that has begun, in any order: its head, and its place in $1.
-- Cost: a search of the primary key for each feed.
{{if postgres}}
SELECT h.feed, h.rev, h.pos, h.floor, h.born, h.unread, h.unseen, e.nth
FROM json_array_elements($1::text::json) WITH ORDINALITY AS e (f, nth)
CROSS JOIN LATERAL (
  SELECT * FROM rollcall_feeds AS r
  WHERE r.tenant = f ->> 0 AND r.feed = f ->> 1
  LIMIT 1 -- or a plan for few feeds reads them all when there are many
) AS h
{{else}}
SELECT h.feed, h.rev, h.pos, h.floor, h.born, h.unread, h.unseen, e.key + 1
FROM json_each($1) AS e
CROSS JOIN rollcall_feeds AS h
WHERE h.tenant = json_extract(e.value, '$[0]') AND h.feed = json_extract(e.value, '$[1]')
{{end}}
