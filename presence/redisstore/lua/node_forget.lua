-- Forgets a process after all that hung on it was swept, unless it has come back: rule 23.
-- KEYS    1 nodes, 2 terms, 3 sweeps: as node_claim.lua
-- ARGV    1 process; 2 when its lease lapsed, ms, as node_claim.lua said
-- Returns 1 if it was forgotten, else 0
-- Cost    O(log processes)
redis.call('ZREM', KEYS[3], ARGV[1])
if redis.call('ZSCORE', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
return 1
