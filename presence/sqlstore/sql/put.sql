-- Writes an entry. Run after lock.sql.
-- $1 tenant, $2 user, $3 other, $4 kind, $5 rank.
-- Returns nothing.
-- Cost: one written row.
INSERT INTO rollcall_contacts (tenant, user_id, other, kind, rank)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant, user_id, other) DO UPDATE SET kind = excluded.kind, rank = excluded.rank
