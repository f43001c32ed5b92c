-- Removes leases that have expired, and announces who is gone: rules 2 and 6.
-- KEYS    as topic.lua
-- ARGV    as topic.lua; 7: how many leases at most
-- Returns {leases removed, leaves announced, ms until the next expires (0: more
--         are due now; -1: no lease is left)}
-- Cost    about 2 us a lease.
local due = redis.call('ZRANGEBYSCORE', leases, '-inf', now, 'WITHSCORES', 'LIMIT', 0, ARGV[7])
if #due > 0 then
  local ids, others = {}, {}
  for i = 1, #due, 2 do ids[#ids + 1] = match(due[i], '^[^\31]+') end
  -- Most users have this one lease, and had no other: they need no step.
  local expires, length, at
  for i, record in ipairs(redis.call('HMGET', users, unpack(ids))) do
    local holder, long = match(record or '', '^|([^|=]+)=(%d+)| 0 ')
    if not holder then
      others[#others + 1] = ids[i]
    elseif find(due[2 * i - 1], holder, #ids[i] + 2, true) then
      if expires ~= due[2 * i] or length ~= long then
        expires, length = due[2 * i], long
        at = expires - length .. ''
      end
      depart(ids[i], at)
    end
  end
  touch(others)
  lapse(due, #others)
  redis.call('ZREMRANGEBYRANK', leases, 0, #due / 2 - 1)
  settle()
end
local first = redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')
return {#due / 2 + #ended, #gone, first[2] and max(0, first[2] - now) or -1}
