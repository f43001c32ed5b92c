-- Removes a user's entries, and those of others about the user.
-- $1 tenant, $2 user.
-- Returns nothing.
-- Cost: reads the tenant's whole table, since there is no index of the other users.
DELETE FROM rollcall_contacts
WHERE tenant = $1 AND (user_id = $2 OR other = $2)
