-- Turns the current sets into the old ones, once a period: rule 8, Store.Age.
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
if named then redis.call('HSET', KEYS[7], '\31', string.format('%.0f', last)) end -- for recent.lua
local gone = {}
for i = 1, #bots, 2 do
  if now - last >= 2 * period or tonumber(string.match(bots[i + 1], '^%d+') or 0) < last then gone[#gone + 1] = bots[i] end
end
if #gone > 0 then redis.call('HDEL', KEYS[8], unpack(gone)) end
redis.call('UNLINK', KEYS[2], KEYS[4])
if now - last >= 2 * period then
  redis.call('UNLINK', KEYS[1], KEYS[3], KEYS[6], KEYS[9])
else
  local early = redis.call('ZCOUNT', KEYS[6], '-inf', '(' .. string.format('%.0f', last))
  if early > 0 then redis.call('ZREMRANGEBYRANK', KEYS[6], 0, early - 1) end
  redis.call('ZREMRANGEBYSCORE', KEYS[9], '-inf', '(' .. string.format('%.0f', last))
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
