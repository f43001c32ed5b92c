-- Removes expired leases of users whom no connection holds, and announces who is
-- gone: Store.SweepViews.
-- KEYS    as topic.lua
-- ARGV    as topic.lua; 7: how many expired leases are looked at
-- Returns {leases removed, leaves announced, ms until the topic is looked at again
--         (-1: no lease is left)}
-- Cost    O(log leases) each
local due, ids, lapsing = redis.call('ZRANGEBYSCORE', leases, '-inf', now, 'WITHSCORES', 'LIMIT', 0, ARGV[7]), {}, {}
local function user(member) return sub(member, 1, find(member, '\31', 1, true) - 1) end
for i = 1, #due, 2 do ids[#ids + 1] = user(due[i]) end
touch(ids)
for i = 1, #due, 2 do
  local held = false
  for holder in gmatch(step[user(due[i])].held, '|([^=]+)=') do held = held or connection(holder) end
  if not held then lapsing[#lapsing + 1], lapsing[#lapsing + 2] = due[i], due[i + 1] end
end
ended = lapse(lapsing, #touched)
settle()
return {#ended, #gone, redis.call('EXISTS', leases) == 1 and 100 or -1}
