-- Says when topics that were claimed are due next. One that stayed empty for a
-- while leaves the index: longer than any node believes that it noted it.
-- KEYS    1 due (or views), 2 idle: zset topic -> empty since, ms
-- ARGV    1 now, ms (0: the server's TIME); 2 how long an empty topic stays, ms;
--         3 look again at an empty one after, ms; then pairs: topic, ms until it is due (-1: it is empty)
-- Returns 0.
-- Cost    O(topics)
local now = tonumber(ARGV[1])
if now == 0 then
  local t = redis.call('TIME')
  now = t[1] * 1000 + math.floor(t[2] / 1000)
end
local function at(ms) return string.format('%.0f', now + ms) end
for i = 4, #ARGV, 2 do
  local topic, wait = ARGV[i], tonumber(ARGV[i + 1])
  if wait >= 0 then
    redis.call('ZADD', KEYS[1], 'XX', at(wait), topic)
    redis.call('ZREM', KEYS[2], topic)
  else
    redis.call('ZADD', KEYS[2], 'NX', at(0), topic)
    if now - tonumber(redis.call('ZSCORE', KEYS[2], topic)) >= tonumber(ARGV[2]) then
      redis.call('ZREM', KEYS[1], topic)
      redis.call('ZREM', KEYS[2], topic)
    else
      redis.call('ZADD', KEYS[1], 'XX', at(tonumber(ARGV[3])), topic)
    end
  end
end
return 0
