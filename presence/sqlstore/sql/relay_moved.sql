-- Removes items from places that they leave.
-- $1 tenant, $2 places: a JSON array of [feed, pos].
-- Returns nothing.
-- Cost: a search of the primary key for each item.
DELETE FROM rollcall_items
WHERE tenant = $1 AND (feed, pos) IN (SELECT e.value ->> 0, CAST(e.value ->> 1 AS bigint) FROM {{each "$2"}})
