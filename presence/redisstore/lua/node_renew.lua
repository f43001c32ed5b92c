-- Renews the lease of a node's process, or makes it: rule 23.
-- KEYS    1 nodes  zset  process -> when its lease lapses, ms
--         2 terms  hash  process -> the term of its latest renewal, ms
-- ARGV    1 now, as time.lua; 2 process; 3 term, ms
-- Returns {1 if it had a lease that has not lapsed, else 0; ms until the first lease of any
--         process lapses}
-- Cost    O(log processes)
local was = redis.call('ZSCORE', KEYS[1], ARGV[2])
redis.call('HGET', KEYS[2], ARGV[2]) -- a key of another type fails the script before it writes
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[2])
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
keep(KEYS[1])
keep(KEYS[2])
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return {was and tonumber(was) > now and 1 or 0, first[2] - now}
