-- Removes the mutes of a user that have ended.
-- $1 tenant, $2 user, $3 time.
-- Returns nothing.
-- Cost: reads the user's mutes, at most 1,000.
DELETE FROM rollcall_mutes
WHERE tenant = $1 AND user_id = $2 AND until > 0 AND until <= $3
