-- The items that messages may join: the newest unread one of each group. Run after feed_lock.sql.
-- $1 tenant, $2 groups: a JSON array of [feed, about, group], each once.
-- Returns feed, about, group, pos, id, actors, others, n, mail.
-- Cost: a search of the index of unread items for each group. Without statistics SQLite would
-- read the feed.
{{if postgres}}
SELECT i.feed, i.about, i.grp, i.pos, i.id, i.actors, i.others, i.n, i.mail
FROM jsonb_array_elements($2::text::jsonb) AS e
CROSS JOIN LATERAL (
  SELECT * FROM rollcall_items AS g
  WHERE g.tenant = $1 AND g.feed = e ->> 0 AND g.about = e ->> 1 AND g.grp = e ->> 2 AND g.state = 0
  ORDER BY g.pos DESC LIMIT 1
) AS i
{{else}}
SELECT i.feed, i.about, i.grp, max(i.pos), i.id, i.actors, i.others, i.n, i.mail
FROM json_each($2) AS e
CROSS JOIN rollcall_items AS i INDEXED BY rollcall_items_unread
WHERE i.tenant = $1 AND i.feed = json_extract(e.value, '$[0]') AND i.about = json_extract(e.value, '$[1]')
  AND i.grp = json_extract(e.value, '$[2]') AND i.state = 0
GROUP BY e.key
{{end}}
