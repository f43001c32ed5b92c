-- Returns topics that are due, and makes them due again a while later. So nodes share the
-- work, and other nodes take over the topics of one that dies.
-- KEYS    1 due (or views): zset topic -> when to look at it next, ms
-- ARGV    1 now, as time.lua; 2 how much later, ms; 3 how many at most
-- Returns ms until a further topic is due (-1: there is none), and the topics
-- Cost    O(log topics) for each of at most ARGV[3]
local topics = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[3])
local later = {}
for i, topic in ipairs(topics) do
  later[2 * i - 1] = now + ARGV[2]
  later[2 * i] = topic
end
local further = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
if #later > 0 then redis.call('ZADD', KEYS[1], unpack(later)) end
table.insert(topics, 1, further[2] and string.format('%.0f', further[2] - now) or '-1')
return topics
