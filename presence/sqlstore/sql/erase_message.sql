-- Writes a message that waits, unless it has another text by now. What the latest try said goes.
-- $1 tenant, $2 id, $3 the message, $4 the text that was read.
-- Returns nothing.
-- Cost: one written row.
UPDATE rollcall_outbox SET message = $3, error = NULL
WHERE tenant = $1 AND id = $2 AND message = $4
