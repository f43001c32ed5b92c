-- Writes items.
-- $1 tenant, $2 items: a JSON array of [feed, pos, rev, message, id, actors, others, n, mail,
-- state], where message is an index of $3: a JSON array of [type, v, about, group, text, url,
-- data], and $4 is the time.
-- Returns nothing.
-- Cost: a new row for each item.
{{if postgres}}
INSERT INTO rollcall_items (tenant, feed, pos, rev, id, type, v, at, actors, others, n, about, grp, text, url, data, mail, state)
SELECT $1, e ->> 0, (e ->> 1)::bigint, (e ->> 2)::bigint, e ->> 4, m ->> 0, (m ->> 1)::integer, $4, e ->> 5, (e ->> 6)::integer,
  (e ->> 7)::integer, m ->> 2, m ->> 3, m ->> 4, m ->> 5, m ->> 6, (e ->> 8)::integer, (e ->> 9)::integer
FROM jsonb_array_elements($2::text::jsonb) AS e
JOIN jsonb_array_elements($3::text::jsonb) WITH ORDINALITY AS ms (m, nth) ON nth = (e ->> 3)::bigint + 1
{{else}}
WITH m AS MATERIALIZED (
  SELECT key AS nth, json_extract(value, '$[0]') AS type, json_extract(value, '$[1]') AS v, json_extract(value, '$[2]') AS about,
    json_extract(value, '$[3]') AS grp, json_extract(value, '$[4]') AS text, json_extract(value, '$[5]') AS url, json_extract(value, '$[6]') AS data
  FROM json_each($3)
)
INSERT INTO rollcall_items (tenant, feed, pos, rev, id, type, v, at, actors, others, n, about, grp, text, url, data, mail, state)
SELECT $1, json_extract(e.value, '$[0]'), json_extract(e.value, '$[1]'), json_extract(e.value, '$[2]'), json_extract(e.value, '$[4]'),
  m.type, m.v, $4, json_extract(e.value, '$[5]'), json_extract(e.value, '$[6]'), json_extract(e.value, '$[7]'),
  m.about, m.grp, m.text, m.url, m.data, json_extract(e.value, '$[8]'), json_extract(e.value, '$[9]')
FROM json_each($2) AS e
CROSS JOIN m
WHERE m.nth = json_extract(e.value, '$[3]')
{{end}}
