-- Removes the mutes of a user.
-- $1 tenant, $2 user.
-- Returns nothing.
-- Cost: the rows of the user.
DELETE FROM rollcall_mutes WHERE tenant = $1 AND user_id = $2
