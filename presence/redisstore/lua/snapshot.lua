-- A topic's head and figures, and its whole roster if that is small.
-- KEYS    1 users, 2 head, 3 log, whose last entry is the head if that was lost
-- ARGV    1 now, as time.lua; 2 the size of the largest small roster
-- Returns {head, users online, {user, record, ...}, now}, with no records if the roster is
--         larger
-- Cost    O(users), at most ARGV[2]
local n = redis.call('HLEN', KEYS[1])
local small = n <= tonumber(ARGV[2])
local head = redis.call('GET', KEYS[2])
if not head then
  local last = redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1)[1]
  head = last and last[1] or '0'
end
return {head, n, small and redis.call('HGETALL', KEYS[1]) or {}, now}
