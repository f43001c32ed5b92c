-- Removes leases that have expired, and announces who is gone: rules 2 and 6.
-- KEYS    as topic.lua
-- ARGV    as topic.lua; 7: how many leases at most
-- Returns {leases removed, leaves announced, ms until the next expires (0: more
--         are due now; -1: no lease is left)}
-- Cost    about 2 us a lease.
local due = redis.call('ZRANGEBYSCORE', leases, '-inf', int(now), 'LIMIT', 0, ARGV[7])
local ids = {}
for i, member in ipairs(due) do ids[i] = string.sub(member, 1, string.find(member, '\31', 1, true) - 1) end
touch(ids)
local left = 0
local removed = #ended
if #due > 0 then left = settle() end
local first = redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')
if #first == 0 then return {removed, left, -1} end
return {removed, left, math.max(0, tonumber(first[2]) - now)}
