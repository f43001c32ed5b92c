-- Writes items.
-- $1 tenant, $2 items: a JSON array of [feed, pos, rev, message, id, actors, others, n, mail,
-- state], where message is an index of $3: a JSON array of [type, v, about, group, text, url,
-- data], and $4 is the time.
-- Returns nothing.
-- Cost: a new row for each item.
INSERT INTO rollcall_items (tenant, feed, pos, rev, id, type, v, at, actors, others, n, about, grp, text, url, data, mail, state)
SELECT $1, e ->> 0, (e ->> 1)::bigint, (e ->> 2)::bigint, e ->> 4, m ->> 0, (m ->> 1)::integer, $4, e ->> 5, (e ->> 6)::integer,
  (e ->> 7)::integer, m ->> 2, m ->> 3, m ->> 4, m ->> 5, m ->> 6, (e ->> 8)::integer, (e ->> 9)::integer
FROM jsonb_array_elements($2::text::jsonb) AS e
JOIN jsonb_array_elements($3::text::jsonb) WITH ORDINALITY AS ms (m, nth) ON nth = (e ->> 3)::bigint + 1
