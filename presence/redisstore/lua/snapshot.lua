-- A topic's head and figures, and its whole roster if that is small.
-- KEYS    1 users, 2 head, 3 log, whose last entry is the head if that was lost
-- ARGV    1 now, as time.lua; 2 the size of the largest small roster
-- Returns {head, users online, now, and each user with the record}, all texts, without users
--         if the roster is larger
-- Cost    O(users), at most ARGV[2]
local n = redis.call('HLEN', KEYS[1])
local head = redis.call('GET', KEYS[2])
if not head then
  local last = redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1)[1]
  head = last and last[1] or '0'
end
local answer = {head, n .. '', now .. ''}
if n <= tonumber(ARGV[2]) then
  for i, text in ipairs(redis.call('HGETALL', KEYS[1])) do answer[i + 3] = text end
end
return answer
