-- What crons do with every topic beside the sweeps.
-- KEYS    as named in topic.lua

-- [views_age] Turns the current sets into the old ones, once a period: rule 8, Store.Age.
-- KEYS    1 current, 2 old, 3 guests, 4 before, 5 aged, 6 listed, 7 names, 8 bots,
--         9 signed
-- ARGV    1 now, as time.lua; 2 period, ms
-- Returns {1 if they turned, ms until they turn next (-1: nothing is left)}
-- Cost    O(1): keys are renamed, and freed in the background. At most 513 guests are
--         removed from the list, and at most 4,608 bots are looked at.
local period = tonumber(ARGV[2])
local last = tonumber(redis.call('GET', KEYS[5]) or -1)
if last < 0 then return {0, -1} end
if now - last < period then return {0, last + period - now} end
local named, bots = redis.call('HGET', KEYS[7], ''), redis.call('HGETALL', KEYS[8])
if named then redis.call('HSET', KEYS[7], '\31', string.format('%.0f', last)) end -- for recent in read.lua
local gone = {}
for i = 1, #bots, 2 do
  if now - last >= 2 * period or tonumber(string.match(bots[i + 1], '^%d+') or 0) < last then gone[#gone + 1] = bots[i] end
end
if #gone > 0 then redis.call('HDEL', KEYS[8], unpack(gone)) end
redis.call('UNLINK', KEYS[2], KEYS[4])
if now - last >= 2 * period then
  redis.call('UNLINK', KEYS[1], KEYS[3], KEYS[6], KEYS[9])
else
  for _, guests in ipairs({KEYS[6], KEYS[9]}) do
    local early = redis.call('ZCOUNT', guests, '-inf', '(' .. string.format('%.0f', last))
    if early > 0 then redis.call('ZREMRANGEBYRANK', guests, 0, early - 1) end
  end
  if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('RENAME', KEYS[1], KEYS[2]) end
  if redis.call('EXISTS', KEYS[3]) == 1 then redis.call('RENAME', KEYS[3], KEYS[4]) end
end
if redis.call('EXISTS', KEYS[2], KEYS[4], KEYS[8]) == 0 then
  redis.call('DEL', KEYS[5])
  return {1, -1}
end
local keep = string.format('%.0f', 4 * period)
redis.call('SET', KEYS[5], string.format('%.0f', now), 'PX', keep)
for _, i in ipairs({2, 4, 6, 8, 9}) do redis.call('PEXPIRE', KEYS[i], keep) end
return {1, period}

-- [seen_trim] Forgets users who were last seen long ago, and names of users who were active long ago:
-- rules 5 and 9, Store.Trim.
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

-- [rest] Lengthens the life of a topic's keys, while a node runs: see upkeep.go. Keys with a shorter life
-- of their own are not among them.
-- KEYS    1 leases, 2 users, 3 hidden, 4 seen, 5 count, 6 log, 7 head
-- ARGV    none
-- Returns 0.
-- Cost    8 calls
for i = 1, 5 do redis.call('PEXPIRE', KEYS[i], KEEP) end
if redis.call('HLEN', KEYS[2]) > 0 then -- else they end a minute after the last user
  redis.call('PEXPIRE', KEYS[6], KEEP)
  redis.call('PEXPIRE', KEYS[7], KEEP)
end
return 0
