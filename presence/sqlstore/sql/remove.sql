-- Removes an entry. Run after lock.sql.
-- $1 tenant, $2 user, $3 other.
-- Returns nothing.
-- Cost: one removed row.
DELETE FROM rollcall_contacts
WHERE tenant = $1 AND user_id = $2 AND other = $3
