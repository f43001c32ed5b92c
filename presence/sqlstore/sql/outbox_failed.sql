-- Has a message wait, since it could not be relayed.
-- $1 tenant, $2 id, $3 when it is due again, NULL for never, $4 why.
-- Returns nothing.
-- Cost: one written row.
UPDATE rollcall_outbox SET tries = tries + 1, due = $3, error = $4
WHERE tenant = $1 AND id = $2
