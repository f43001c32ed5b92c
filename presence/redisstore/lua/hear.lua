-- Reads the notices that a node has not heard.
-- KEYS    1 log of notices: a stream
-- ARGV    1 the id of the latest one heard; 2 how many at most
-- Returns for each its id, how long ago it was in ms, and the notice.
-- Cost    O(notices)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answer = {}
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', ARGV[2])) do
  answer[#answer + 1] = entry[1]
  answer[#answer + 1] = math.max(0, now - tonumber(string.match(entry[1], '^%d+'))) .. ''
  answer[#answer + 1] = entry[2][2]
end
return answer
