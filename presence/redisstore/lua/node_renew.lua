-- Renews the lease of a node's process, makes it, or ends it: rule 23.
-- KEYS    1 nodes  zset  process -> when its lease lapses, ms
--         2 terms  hash  process -> the term of its latest renewal, ms
-- ARGV    1 now, as time.lua; 2 process; 3 term, ms; 0: the process ends
-- Returns {1 if it had a lease that has not lapsed, else 0; ms until the first lease of any
--         process lapses}
-- Cost    O(log processes)
local was = redis.call('ZSCORE', KEYS[1], ARGV[2])
redis.call('HGET', KEYS[2], ARGV[2]) -- a key of another type fails the script before it writes
if tonumber(ARGV[3]) > 0 then
  redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[2])
  redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
  keep(KEYS[1])
  keep(KEYS[2])
else
  redis.call('ZREM', KEYS[1], ARGV[2])
  redis.call('HDEL', KEYS[2], ARGV[2])
end
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return {was and tonumber(was) > now and 1 or 0, first[2] and first[2] - now or 0}
