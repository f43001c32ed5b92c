-- What users say of viewers.
-- $1 tenant, $2 pairs: a JSON array of [user, viewer], at most 1,000.
-- Returns a row for each pair of which something is said, in any order: user, viewer,
-- kind (1 contact, -1 blocked).
-- Cost: a search of the primary key for each pair.
SELECT c.user_id, c.other, c.kind
FROM json_array_elements($2::text::json) AS e
JOIN rollcall_contacts AS c ON c.tenant = $1 AND c.user_id = e ->> 0 AND c.other = e ->> 1
