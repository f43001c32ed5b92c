-- Puts messages of any tenants into the outbox.
-- $1 rows: a JSON array of [tenant, id, message, bulk].
-- Returns nothing.
-- Cost: a new row for each message. It locks nothing that another sender wants.
INSERT INTO rollcall_outbox (tenant, id, message, bulk, due)
SELECT e.value ->> 0, e.value ->> 1, e.value ->> 2, CAST(e.value ->> 3 AS integer), {{now}}
FROM {{each "$1"}}
