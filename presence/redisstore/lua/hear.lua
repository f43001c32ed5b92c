-- Reads the notices that a node has not heard.
-- KEYS    1 log of notices: a stream
-- ARGV    1 the id of the latest one heard (empty: none is asked for); 2 how many
--         at most
-- Returns {the id of the latest there is, then for each its id, how long ago it
--         was in ms, and the notice}.
-- Cost    O(notices)
local latest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
local answer = {latest[1] and latest[1][1] or '0-0'}
if ARGV[1] == '' then return answer end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', ARGV[2])) do
  answer[#answer + 1] = entry[1]
  answer[#answer + 1] = math.max(0, now - tonumber(string.match(entry[1], '^%d+'))) .. ''
  answer[#answer + 1] = entry[2][2]
end
return answer
