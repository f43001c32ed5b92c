-- Writes down when claimed topics are due next. A topic that stayed empty for a while
-- leaves the index. That while is longer than a node remembers that it noted the topic.
-- KEYS    1 due (or views), 2 idle: zset topic -> empty since, ms; 3 views (or due),
--         4 topics: zset of those in due and views, all of score 0, so in the order of their names
-- ARGV    1 now, as time.lua; 2 how long an empty topic stays, ms;
--         3 when an empty one is due again, ms; then pairs: topic, ms until it
--         is due (-1: it is empty)
-- Returns how many topics are in the index.
-- Cost    O(log topics) each
local busy, later = {}, {}
local function again(topic, wait) later[#later + 1], later[#later + 2] = now + wait, topic end
for i = 4, #ARGV, 2 do
  local topic, wait = ARGV[i], tonumber(ARGV[i + 1])
  if wait >= 0 then
    busy[#busy + 1] = topic
    again(topic, wait)
  else
    redis.call('ZADD', KEYS[2], 'NX', now, topic)
    if now - redis.call('ZSCORE', KEYS[2], topic) < tonumber(ARGV[2]) then
      again(topic, ARGV[3])
    else
      redis.call('ZREM', KEYS[1], topic)
      redis.call('ZREM', KEYS[2], topic)
      if not redis.call('ZSCORE', KEYS[3], topic) then redis.call('ZREM', KEYS[4], topic) end
    end
  end
end
if #busy > 0 then redis.call('ZREM', KEYS[2], unpack(busy)) end
if #later > 0 then redis.call('ZADD', KEYS[1], 'XX', unpack(later)) end
for _, key in ipairs(KEYS) do keep(key) end
return redis.call('ZCARD', KEYS[4])
