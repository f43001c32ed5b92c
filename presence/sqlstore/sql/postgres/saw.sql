-- Keeps when users were last seen, unless a later moment is kept.
-- $1 tenant, $2 moments: a JSON array of [user, milliseconds], at most 500.
-- Returns nothing.
-- Cost: a search of the primary key and at most one written row for each user. The order
-- of users is the same in every call, so that two calls never wait for each other.
INSERT INTO rollcall_people (tenant, user_id, seen)
SELECT $1::text, e ->> 0, (e ->> 1)::bigint
FROM json_array_elements($2::text::json) AS e
ORDER BY (e ->> 0) COLLATE "C"
ON CONFLICT (tenant, user_id) DO UPDATE SET seen = excluded.seen
WHERE rollcall_people.seen < excluded.seen
