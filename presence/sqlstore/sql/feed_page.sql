-- The head of a feed, and its listed items below a place, the newest first, from one moment.
-- $1 tenant, $2 feed, $3 place, $4 the most items.
-- Returns a row for each item, each with the head. Without items one row, whose item is
-- NULL; of a feed that has not begun none.
-- Cost: a range of the primary key: the items, and archived ones between them.
SELECT h.feed, h.rev, h.pos, h.floor, h.born, h.unread, h.unseen, i.pos, i.rev, i.id, i.type, i.v, i.at, i.actors, i.others, i.n, i.about, i.grp, i.text, i.url, i.data, i.mail, i.state, i.seen_at, i.read_at
FROM rollcall_feeds AS h
{{if postgres}}
LEFT JOIN LATERAL (
  SELECT * FROM rollcall_items AS l
  WHERE l.tenant = $1 AND l.feed = $2 AND l.pos < $3 AND l.state <= 1
  ORDER BY l.pos DESC LIMIT $4
) AS i ON true
WHERE h.tenant = $1 AND h.feed = $2
ORDER BY i.pos DESC
{{else}}
LEFT JOIN rollcall_items AS i ON i.tenant = $1 AND i.feed = $2 AND i.pos < $3 AND i.state <= 1
WHERE h.tenant = $1 AND h.feed = $2
ORDER BY i.pos DESC
LIMIT $4
{{end}}
