-- A topic's head and figures, and its whole roster if that is small.
-- KEYS    1 users, 2 head, 3 log, in which a head that was lost is
-- ARGV    1 how many users are small
-- Returns {head, users online, {user, record, ...}}, the last one empty where
--         they are more
-- Cost    O(users), at most ARGV[1]
local n = redis.call('HLEN', KEYS[1])
local small = n <= tonumber(ARGV[1])
local head = redis.call('GET', KEYS[2])
if not head then
  local last = redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1)[1]
  head = last and last[1] or '0'
end
return {head, n, small and redis.call('HGETALL', KEYS[1]) or {}}
