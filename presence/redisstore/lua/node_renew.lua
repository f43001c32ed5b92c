-- Renews the lease of a node's process, makes it, or ends it: rule 23.
-- KEYS    1 nodes  zset  process -> when its lease lapses, ms
--         2 terms  hash  process -> the term of its latest renewal, ms; of a process that writes no more, when it lapses
--         3 sweeps: as node_claim.lua
-- ARGV    1 now, as time.lua; 2 process; 3 term, ms; 0: the process ends; less: it writes no more
-- Returns {1 if it has a lease that no sweep has claimed, else 0; ms until the first lease of any
--         process lapses; how many processes have a lease that has not lapsed}
-- Cost    O(log processes)
local was, claimed = redis.call('ZSCORE', KEYS[1], ARGV[2]), redis.call('ZSCORE', KEYS[3], ARGV[2])
redis.call('HGET', KEYS[2], ARGV[2]) -- a key of another type fails the script before it writes
local term = tonumber(ARGV[3])
if term == 0 then
  redis.call('ZREM', KEYS[1], ARGV[2])
  redis.call('HDEL', KEYS[2], ARGV[2])
elseif term < 0 or not claimed then
  local lapses = string.format('%.0f', now + math.max(term, -term))
  redis.call('ZADD', KEYS[1], lapses, ARGV[2])
  redis.call('HSET', KEYS[2], ARGV[2], term > 0 and ARGV[3] or lapses)
  keep(KEYS[1])
  keep(KEYS[2])
end
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return {was and not claimed and 1 or 0, first[2] and first[2] - now or 0, redis.call('ZCOUNT', KEYS[1], string.format('(%.0f', now), '+inf')}
