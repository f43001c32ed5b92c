-- The index: which topics there are, and which of them changed lately.
--   due (or views)  zset  topic -> when to look at it next, ms
--   idle     zset  topic -> empty since, ms
--   topics   zset  those in due and views, all of score 0, so in the order of their names
--   seen     set   topics to trim
--   changed  zset  topic -> number of its latest change. The member "=" has the number of the
--                  latest change of all, and the member of the score -inf is the era
--   unnoted  string  there while a node does not note changes

-- [index_note] Puts topics into an index before something is written to them, so that every node finds
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

-- [index_claim] Returns topics that are due, and makes them due again a while later. So nodes share the
-- work, and other nodes take over the topics of one that dies.
-- KEYS    1 due (or views)
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

-- [index_settle] Writes down when claimed topics are due next. A topic that stayed empty for a while
-- leaves the index. That while is longer than a node remembers that it noted the topic.
-- KEYS    1 due (or views), 2 idle, 3 views (or due), 4 topics
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

-- [index_forget] Removes topics without last seen from the index of topics to trim, unless they are in
-- use.
-- KEYS    1 seen, 2 due
-- ARGV    the topics
-- Returns 0.
-- Cost    O(topics)
for _, topic in ipairs(ARGV) do
  if not redis.call('ZSCORE', KEYS[2], topic) then redis.call('SREM', KEYS[1], topic) end
end
return 0

-- [index_changed] Notes topics whose figures may have changed, after the scripts that changed them.
-- KEYS    1 changed, 2 unnoted
-- ARGV    1 how many topics stay noted; 2 how long unnoted stays, ms; then the topics. Without topics
--         it says that this node notes nothing.
-- Returns 0.
-- Cost    O(log topics) each
local many = #ARGV - 2
if many == 0 then
  redis.call('SET', KEYS[2], '1', 'PX', ARGV[2])
  return 0
end
local last = (redis.call('ZSCORE', KEYS[1], '=') or 0) + many
local noted = {string.format('%.0f', last), '='}
for i = 1, many do
  noted[#noted + 1] = string.format('%.0f', last - many + i)
  noted[#noted + 1] = ARGV[i + 2]
end
redis.call('ZADD', KEYS[1], unpack(noted))
local over = redis.call('ZCARD', KEYS[1]) - 2 - ARGV[1]
if over > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 1, over) end
keep(KEYS[1])
return 0
