-- Removes ids of messages.
-- $1 tenant, $2 ids: a JSON array of [feed, id].
-- Returns nothing.
-- Cost: a search of the primary key for each id.
DELETE FROM rollcall_ids
WHERE tenant = $1 AND (feed, id) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each($2))
