-- What is known of users.
-- $1 tenant, $2 users: a JSON array of strings, at most 1,000.
-- Returns a row for each user who is known, in any order.
-- Cost: a search of the primary key for each user.
SELECT user_id, seen, status, until, text, online, last, except_some
FROM rollcall_people
WHERE tenant = $1 AND user_id IN (SELECT value FROM json_each($2))
