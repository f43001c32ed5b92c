-- Whom a user lists.
-- $1 tenant, $2 user, $3 the most rows.
-- Returns contacts, the dearest first.
-- Cost: reads the user's entries, at most 5,000, and sorts them.
SELECT other
FROM rollcall_contacts
WHERE tenant = $1 AND user_id = $2 AND kind = 1
ORDER BY rank, other
LIMIT $3
