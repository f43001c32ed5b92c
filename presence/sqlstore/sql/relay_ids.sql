-- Notes the ids of messages.
-- $1 tenant, $2 ids: a JSON array of [feed, id], each once, $3 time.
-- Returns feed and id of those that are new, in any order.
-- Cost: a search of the primary key, and a new row, for each id.
INSERT INTO rollcall_ids (tenant, feed, id, at)
SELECT $1, e.value ->> 0, e.value ->> 1, $3
FROM {{each "$2"}}
WHERE true -- or SQLite takes ON CONFLICT for a join
ON CONFLICT (tenant, feed, id) DO NOTHING
RETURNING feed, id
