-- Writes who acted in an item.
-- $1 tenant, $2 feed, $3 place, $4 revision, $5 actors, $6 others.
-- Returns nothing.
-- Cost: one written row.
UPDATE rollcall_items SET rev = $4, actors = $5, others = $6
WHERE tenant = $1 AND feed = $2 AND pos = $3
