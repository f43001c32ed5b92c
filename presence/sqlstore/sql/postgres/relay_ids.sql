-- Notes the ids of messages.
-- $1 tenant, $2 ids: a JSON array of [feed, id], each once, $3 time.
-- Returns feed and id of those that are new, in any order.
-- Cost: a search of the primary key, and a new row, for each id.
INSERT INTO rollcall_ids (tenant, feed, id, at)
SELECT $1, e ->> 0, e ->> 1, $3
FROM jsonb_array_elements($2::text::jsonb) AS e
ON CONFLICT (tenant, feed, id) DO NOTHING
RETURNING feed, id
