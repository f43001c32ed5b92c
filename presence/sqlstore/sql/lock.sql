-- Makes a user's row, and locks it until the transaction ends: of two transactions that
-- change one user's entries, the second sees what the first one did.
-- $1 tenant, $2 user.
-- Returns nothing.
-- Cost: one written row.
INSERT INTO rollcall_people (tenant, user_id)
VALUES ($1, $2)
ON CONFLICT (tenant, user_id) DO UPDATE SET except_some = rollcall_people.except_some
