-- Counts the processes whose lease has not lapsed: rule 23.
-- KEYS    1 nodes: as node_renew.lua
-- ARGV    1 now, as time.lua
-- Returns {the number}
-- Cost    O(log processes)
return {redis.call('ZCOUNT', KEYS[1], string.format('(%.0f', now), '+inf')}
