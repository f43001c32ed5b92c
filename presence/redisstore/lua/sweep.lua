-- Removes leases that have expired, and announces who is gone: rules 2 and 6.
-- KEYS    as topic.lua
-- ARGV    as topic.lua; 7: how many leases at most
-- Returns {leases removed, leaves announced, ms until the next expires (0: more
--         are due now; -1: no lease is left)}
-- Cost    about 2 us a lease.
local due = redis.call('ZRANGEBYSCORE', leases, '-inf', now, 'WITHSCORES', 'LIMIT', 0, ARGV[7])
local left = 0
if #due > 0 then
  local ids = {}
  for i = 1, #due, 2 do ids[#ids + 1] = sub(due[i], 1, find(due[i], '\31', 1, true) - 1) end
  touch(ids)
  lapse(due, #touched)
  redis.call('ZREMRANGEBYRANK', leases, 0, #due / 2 - 1)
  left = settle()
end
local first = redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')
return {#due / 2 + #ended, left, first[2] and max(0, first[2] - now) or -1}
