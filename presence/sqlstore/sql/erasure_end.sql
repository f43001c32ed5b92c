-- Forgets an erasure that is done.
-- $1 tenant, $2 user, $3 asked.
-- Returns nothing.
-- Cost: one removed row.
DELETE FROM rollcall_erasures
WHERE tenant = $1 AND user_id = $2 AND asked = $3
