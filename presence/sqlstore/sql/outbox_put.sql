-- Puts one message into the outbox.
-- $1 tenant, $2 id, $3 message: JSON, $4 whether it has many recipients: 0 or 1.
-- Returns nothing.
-- Cost: one new row. It locks nothing that another sender wants.
INSERT INTO rollcall_outbox (tenant, id, message, bulk, due)
VALUES ($1, $2, $3, $4, {{now}})
