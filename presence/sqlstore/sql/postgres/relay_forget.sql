-- Removes ids of messages.
-- $1 tenant, $2 ids: a JSON array of [feed, id].
-- Returns nothing.
-- Cost: a search of the primary key for each id.
DELETE FROM rollcall_ids AS i
USING jsonb_array_elements($2::text::jsonb) AS e
WHERE i.tenant = $1 AND i.feed = e ->> 0 AND i.id = e ->> 1
