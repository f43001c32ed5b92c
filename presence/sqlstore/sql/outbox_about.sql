-- The messages that wait, or were given up, and may name a user: JSON may write any letter as
-- a number.
-- $1 tenant, $2 user, $3 behind which id, $4 how many.
-- Returns id, message.
-- Cost: reads the tenant's outbox.
SELECT id, message FROM rollcall_outbox
WHERE tenant = $1 AND id > $3 AND ({{instr}}(message, $2) > 0 OR {{instr}}(message, '\u') > 0)
ORDER BY id LIMIT $4
