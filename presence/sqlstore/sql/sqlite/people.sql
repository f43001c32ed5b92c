-- What is known of users, of any tenants.
-- $1 users: a JSON array of [tenant, user], at most 1,000.
-- Returns a row for each user who is known, in any order.
-- Cost: a search of the primary key for each user. CROSS JOIN keeps SQLite from reading
-- the table first.
SELECT p.tenant, p.user_id, p.seen, p.status, p.until, p.text, p.online, p.last, p.last_later, p.except_some, p.rev
FROM json_each($1) AS e
CROSS JOIN rollcall_people AS p
WHERE p.tenant = json_extract(e.value, '$[0]') AND p.user_id = json_extract(e.value, '$[1]')
