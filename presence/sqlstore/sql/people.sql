-- What is known of users, of any tenants.
-- $1 users: a JSON array of [tenant, user], at most 1,000.
-- Returns a row for each user who is known, in any order.
-- Cost: a search of the primary key for each user. CROSS JOIN keeps SQLite from reading
-- the table first.
SELECT p.tenant, p.user_id, p.seen, p.status, p.until, p.text, p.online, p.last, p.last_later, p.except_some, p.rev
{{if postgres}}
FROM json_array_elements($1::text::json) AS e
CROSS JOIN LATERAL (
  SELECT * FROM rollcall_people AS r
  WHERE r.tenant = e ->> 0 AND r.user_id = e ->> 1
  LIMIT 1 -- or a plan for few users reads them all when there are many
) AS p
{{else}}
FROM json_each($1) AS e
CROSS JOIN rollcall_people AS p
WHERE p.tenant = json_extract(e.value, '$[0]') AND p.user_id = json_extract(e.value, '$[1]')
{{end}}
