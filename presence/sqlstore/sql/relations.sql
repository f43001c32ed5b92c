-- What users say of viewers of their tenant.
-- $1 pairs: a JSON array of [tenant, user, viewer], at most 1,000.
-- Returns a row for each pair of which something is said, in any order: tenant, user, viewer,
-- kind (1 contact, -1 blocked).
-- Cost: a search of the primary key for each pair. CROSS JOIN keeps SQLite from reading
-- the table first.
SELECT c.tenant, c.user_id, c.other, c.kind
FROM {{each "$1"}}
CROSS JOIN rollcall_contacts AS c
WHERE c.tenant = e.value ->> 0 AND c.user_id = e.value ->> 1 AND c.other = e.value ->> 2
