-- One message that is due.
-- $1 tenant, $2 time, $3 id.
-- Returns id, message, bulk, due, tries.
-- Cost: a search of the primary key.
SELECT id, substr(message, 1, 1048577) AS message, bulk, due, tries
FROM rollcall_outbox
WHERE tenant = $1 AND due <= $2 AND id = $3
