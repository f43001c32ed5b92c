-- Keeps when users of any tenants were last seen, unless a later moment is kept.
-- $1 moments: a JSON array of [tenant, user, milliseconds], at most 500.
-- Returns nothing.
-- Cost: a search of the primary key and at most one written row for each user.
INSERT INTO rollcall_people (tenant, user_id, seen)
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]')
FROM json_each($1)
WHERE true -- or SQLite takes ON CONFLICT for a join
ON CONFLICT (tenant, user_id) DO UPDATE SET seen = excluded.seen
WHERE rollcall_people.seen < excluded.seen
