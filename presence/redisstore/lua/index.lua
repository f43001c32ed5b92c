-- Notes topics before something is written to them, so that any node finds them.
-- KEYS    1 due, 2 views, 3 seen, 4 due:idle, 5 views:idle
-- ARGV    1 now, ms (0: the server's TIME); 2 how many of the rest get leases;
--         then the topics that get leases; then the topics that get page views or guests
-- Returns 0.
-- Cost    O(topics)
local now = ARGV[1]
if now == '0' then
  local t = redis.call('TIME')
  now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
end
local held = tonumber(ARGV[2])
for i = 3, #ARGV do
  if i - 2 <= held then
    redis.call('ZADD', KEYS[1], 'NX', now, ARGV[i])
    redis.call('SADD', KEYS[3], ARGV[i])
    redis.call('ZREM', KEYS[4], ARGV[i])
  else
    redis.call('ZADD', KEYS[2], 'NX', now, ARGV[i])
    redis.call('ZREM', KEYS[5], ARGV[i])
  end
end
return 0
