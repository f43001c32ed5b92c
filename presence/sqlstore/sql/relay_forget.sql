-- Removes ids of messages.
-- $1 tenant, $2 ids: a JSON array of [feed, id].
-- Returns nothing.
-- Cost: a search of the primary key for each id.
DELETE FROM rollcall_ids
WHERE tenant = $1 AND (feed, id) IN (SELECT e.value ->> 0, e.value ->> 1 FROM {{each "$2"}})
