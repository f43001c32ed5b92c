-- Removes a mute.
-- $1 tenant, $2 user, $3 scope.
-- Returns nothing.
-- Cost: one removed row.
DELETE FROM rollcall_mutes
WHERE tenant = $1 AND user_id = $2 AND scope = $3
