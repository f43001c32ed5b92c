-- Keeps when users of any tenants were last seen, unless a later moment is kept.
-- $1 moments: a JSON array of [tenant, user, milliseconds], at most 500.
-- Returns nothing.
-- Cost: a search of the primary key and at most one written row for each user. The order
-- of users is the same in every call, so that two calls never wait for each other.
INSERT INTO rollcall_people (tenant, user_id, seen)
SELECT e.value ->> 0, e.value ->> 1, CAST(e.value ->> 2 AS bigint)
FROM {{each "$1"}}
ORDER BY e.value ->> 0, e.value ->> 1
ON CONFLICT (tenant, user_id) DO UPDATE SET seen = excluded.seen
WHERE rollcall_people.seen < excluded.seen
