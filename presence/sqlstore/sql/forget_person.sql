-- Removes a user's settings and last seen.
-- $1 tenant, $2 user.
-- Returns nothing.
-- Cost: one removed row.
DELETE FROM rollcall_people
WHERE tenant = $1 AND user_id = $2
