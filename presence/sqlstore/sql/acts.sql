-- The items whose actors hold a text, of all feeds.
-- $1 tenant, $2 the text, $3 behind which feed and $4 which pos of it, $5 how many.
-- Returns feed, pos, type, at, by feed and pos.
-- Cost: reads the tenant's whole table, since there is no index of actors.
SELECT feed, pos, type, at FROM rollcall_items
WHERE tenant = $1 AND (feed, pos) > ($3, $4) AND {{instr}}(actors, $2) > 0
ORDER BY feed, pos LIMIT $5
