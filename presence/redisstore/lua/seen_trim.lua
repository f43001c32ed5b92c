-- Forgets users who were last seen long ago, and names of users who were active long ago:
-- rules 7 and 15, Store.Trim.
-- KEYS    1 seen, 2 lately, 3 names
-- ARGV    1 now, as time.lua; 2 keep, ms; 3 how many may stay; 4 how many it forgets at most
-- Returns {forgotten, without names; 1 if there is more to do; how many are left, with names}
-- Cost    O(log N + ARGV[4])
local FORGET = 86400000 -- presence.MaxWithin, ms
local limit = tonumber(ARGV[4])
local before = '(' .. string.format('%.0f', now - tonumber(ARGV[2]))
local old = redis.call('ZCOUNT', KEYS[1], '-inf', before)
local over = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[3])
local drop = math.max(old, over, 0)
local n = math.min(drop, limit)
if n > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, n - 1) end
local named = redis.call('ZCARD', KEYS[2])
local stale = named > 0 and redis.call('ZCOUNT', KEYS[2], '(' .. string.format('%.0f', FORGET - now), '+inf') or 0
local m = math.min(stale, limit - n)
if m > 0 then
  redis.call('HDEL', KEYS[3], unpack(redis.call('ZRANGE', KEYS[2], -m, -1)))
  redis.call('ZREMRANGEBYRANK', KEYS[2], -m, -1)
end
if m > 0 and m == named then redis.call('UNLINK', KEYS[3]) end
return {n, (drop > n or stale > m) and 1 or 0, redis.call('ZCARD', KEYS[1]) + named - m}
