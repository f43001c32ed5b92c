-- Of whom a user has said something.
-- $1 tenant, $2 user.
-- Returns other and kind: contacts (1), the dearest first, then who is blocked (-1).
-- Cost: reads the user's entries, at most 5,000, and sorts them.
SELECT other, kind
FROM rollcall_contacts
WHERE tenant = $1 AND user_id = $2
ORDER BY kind DESC, rank, other
