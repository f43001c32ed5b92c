-- Removes items from places that they leave.
-- $1 tenant, $2 places: a JSON array of [feed, pos].
-- Returns nothing.
-- Cost: a search of the primary key for each item.
DELETE FROM rollcall_items
WHERE tenant = $1 AND (feed, pos) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each($2))
