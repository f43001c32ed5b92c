-- The feeds with items whose actors hold a text.
-- $1 tenant, $2 the text, $3 behind which feed, $4 how many.
-- Returns feed.
-- Cost: reads the tenant's whole table, since there is no index of actors.
SELECT DISTINCT feed FROM rollcall_items
WHERE tenant = $1 AND feed > $3 AND instr(actors, $2) > 0
ORDER BY feed LIMIT $4
