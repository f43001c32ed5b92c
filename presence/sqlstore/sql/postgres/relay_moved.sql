-- Removes items from places that they leave.
-- $1 tenant, $2 places: a JSON array of [feed, pos].
-- Returns nothing.
-- Cost: a search of the primary key for each item.
DELETE FROM rollcall_items AS i
USING jsonb_array_elements($2::text::jsonb) AS e
WHERE i.tenant = $1 AND i.feed = e ->> 0 AND i.pos = (e ->> 1)::bigint
