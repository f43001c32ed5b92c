-- Puts messages of any tenants into the outbox.
-- $1 rows: a JSON array of [tenant, id, message, bulk].
-- Returns nothing.
-- Cost: a new row for each message. It locks nothing that another sender wants.
INSERT INTO rollcall_outbox (tenant, id, message, bulk, due)
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'), json_extract(value, '$[3]'), CAST(round((julianday('now') - 2440587.5) * 86400000) AS integer)
FROM json_each($1)
