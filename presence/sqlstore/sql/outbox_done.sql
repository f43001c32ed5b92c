-- Removes messages that were relayed.
-- $1 tenant, $2 ids: a JSON array.
-- Returns nothing.
-- Cost: a search of the primary key for each message.
DELETE FROM rollcall_outbox
WHERE tenant = $1 AND id {{in "$2" "text"}}
