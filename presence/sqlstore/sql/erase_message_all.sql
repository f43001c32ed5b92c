-- Removes a message that waits, unless it has another text by now.
-- $1 tenant, $2 id, $3 the text that was read.
-- Returns nothing.
-- Cost: one removed row.
DELETE FROM rollcall_outbox
WHERE tenant = $1 AND id = $2 AND message = $3
