-- The items of a feed whose actors hold a text.
-- $1 tenant, $2 feed, $3 the text.
-- Returns pos, actors, others.
-- Cost: reads the feed.
SELECT pos, actors, others FROM rollcall_items
WHERE tenant = $1 AND feed = $2 AND {{instr}}(actors, $3) > 0
