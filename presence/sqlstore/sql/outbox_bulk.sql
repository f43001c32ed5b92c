-- Puts messages behind those of few recipients.
-- $1 tenant, $2 ids: a JSON array.
-- Returns nothing.
-- Cost: a search of the primary key for each message.
UPDATE rollcall_outbox SET bulk = 1
WHERE tenant = $1 AND id {{in "$2" "text"}}
