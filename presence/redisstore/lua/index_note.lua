-- Puts topics into an index before something is written to them, so that every node finds
-- them.
-- KEYS    1 due (or views), 2 idle, 3 topics, 4 seen (only with due)
-- ARGV    1 now, as time.lua; then the topics
-- Returns how many topics are in the index.
-- Cost    O(log topics) each
local due, topics = {}, {}
for i = 2, #ARGV do
  due[#due + 1] = now
  due[#due + 1] = ARGV[i]
  topics[#topics + 1] = 0
  topics[#topics + 1] = ARGV[i]
end
redis.call('ZADD', KEYS[1], 'NX', unpack(due))
redis.call('ZREM', KEYS[2], unpack(ARGV, 2))
redis.call('ZADD', KEYS[3], unpack(topics))
if KEYS[4] then redis.call('SADD', KEYS[4], unpack(ARGV, 2)) end
for _, key in ipairs(KEYS) do keep(key) end
return redis.call('ZCARD', KEYS[3])
