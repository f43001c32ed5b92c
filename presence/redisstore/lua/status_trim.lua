-- Forgets statuses that were chosen long ago: rule 13, Store.Trim.
-- KEYS    1 statuses, 2 chosen: as status_put.lua
-- ARGV    1 now, as time.lua; 2 keep, ms; 3 how many may stay; 4 how many it forgets at most
-- Returns {forgotten, 1 if there is more to do}
-- Cost    O(log users + ARGV[4])
local before = '(' .. string.format('%.0f', (now - tonumber(ARGV[2])) * 1000)
local over = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[3])
local drop = math.max(redis.call('ZCOUNT', KEYS[2], '-inf', before), over, 0)
local n = math.min(drop, tonumber(ARGV[4]))
if n > 0 then
  redis.call('HDEL', KEYS[1], unpack(redis.call('ZRANGE', KEYS[2], 0, n - 1)))
  redis.call('ZREMRANGEBYRANK', KEYS[2], 0, n - 1)
end
return {n, drop > n and 1 or 0}
