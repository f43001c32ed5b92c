-- Removes expired leases that were renewed a short while ago, and announces the leaves:
-- Store.Sweep with RenewedWithin.
-- KEYS    as topic.lua
-- ARGV    as topic.lua; 8 how many expired leases it looks at, at most; 9 how long ago a
--         lease was renewed at most, ms
-- Returns {leases removed, leaves announced, ms until the topic is looked at again
--         (-1: no lease is left)}
-- Cost    O(log leases) each
local due, ids, holders, lapsing = redis.call('ZRANGEBYSCORE', leases, '-inf', now, 'WITHSCORES', 'LIMIT', 0, ARGV[8]), {}, {}, {}
for i = 1, #due, 2 do
  local at = find(due[i], '\31', 1, true)
  ids[#ids + 1], holders[#ids + 1] = sub(due[i], 1, at - 1), sub(due[i], at + 1)
end
touch(ids)
for i, id in ipairs(ids) do
  local member, expires = due[2 * i - 1], due[2 * i]
  local from, length = lease(step[id], holders[i])
  if from and now - (expires - length) <= tonumber(ARGV[9]) then
    lapsing[#lapsing + 1], lapsing[#lapsing + 2] = member, expires
  end
end
ended = lapse(lapsing, #touched)
if #ended > 0 then keepNames() end
settle()
return {#ended, #gone, redis.call('EXISTS', leases) == 1 and 100 or -1}
