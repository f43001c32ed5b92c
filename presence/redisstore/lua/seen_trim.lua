-- Forgets users who were last seen long ago: rule 7, Store.Trim.
-- KEYS    1 seen
-- ARGV    1 now, as time.lua; 2 keep, ms; 3 how many may stay; 4 how many it forgets at most
-- Returns {forgotten, 1 if there is more to do, how many are left}
-- Cost    O(log N + ARGV[4])
local limit = tonumber(ARGV[4])
local before = '(' .. string.format('%.0f', now - tonumber(ARGV[2]))
local old = redis.call('ZCOUNT', KEYS[1], '-inf', before)
local over = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[3])
local drop = math.max(old, over, 0)
local n = math.min(drop, limit)
if n > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, n - 1) end
return {n, drop > n and 1 or 0, redis.call('ZCARD', KEYS[1])}
