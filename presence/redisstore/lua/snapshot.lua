-- A topic's head and figures, and its whole roster if that is small.
-- KEYS    1 users, 2 head
-- ARGV    1 how many users are small
-- Returns {head, users online, {user, record, ...}}, the last one empty where
--         they are more
-- Cost    O(users), at most ARGV[1]
local n = redis.call('HLEN', KEYS[1])
local small = n <= tonumber(ARGV[1])
return {redis.call('GET', KEYS[2]) or '0', n, small and redis.call('HGETALL', KEYS[1]) or {}}
