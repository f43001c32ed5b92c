-- Keeps when users were last seen, unless a later moment is kept.
-- $1 tenant, $2 moments: a JSON array of [user, milliseconds], at most 500.
-- Returns nothing.
-- Cost: a search of the primary key and at most one written row for each user.
INSERT INTO rollcall_people (tenant, user_id, seen)
SELECT $1, json_extract(value, '$[0]'), json_extract(value, '$[1]')
FROM json_each($2)
WHERE true -- or SQLite takes ON CONFLICT for a join
ON CONFLICT (tenant, user_id) DO UPDATE SET seen = excluded.seen
WHERE rollcall_people.seen < excluded.seen
