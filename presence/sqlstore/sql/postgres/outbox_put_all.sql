-- Puts messages of any tenants into the outbox.
-- $1 rows: a JSON array of [tenant, id, message, bulk].
-- Returns nothing.
-- Cost: a new row for each message. It locks nothing that another sender wants.
INSERT INTO rollcall_outbox (tenant, id, message, bulk, due)
SELECT e ->> 0, e ->> 1, e ->> 2, (e ->> 3)::integer, (extract(epoch FROM clock_timestamp()) * 1000)::bigint
FROM json_array_elements($1::text::json) AS e
