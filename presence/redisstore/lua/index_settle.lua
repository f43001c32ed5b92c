-- Writes down when claimed topics are due next. A topic that stayed empty for a while
-- leaves the index. That while is longer than a node remembers that it noted the topic.
-- KEYS    1 due (or views), 2 idle: zset topic -> empty since, ms; 3 views (or due),
--         4 topics: zset of those in due and views, all of score 0, so in the order of their names
-- ARGV    1 now, as time.lua; 2 how long an empty topic stays, ms;
--         3 when an empty one is due again, ms; then pairs: topic, ms until it
--         is due (-1: it is empty)
-- Returns how many topics are in the index.
-- Cost    O(log topics) each
local due, busy, empty, gone = {}, {}, {}, {}
for i = 4, #ARGV, 2 do
  local wait = tonumber(ARGV[i + 1])
  local list = wait < 0 and empty or busy
  list[#list + 1] = ARGV[i]
  due[ARGV[i]] = now + (wait < 0 and ARGV[3] or wait)
end
if #busy > 0 then redis.call('ZREM', KEYS[2], unpack(busy)) end
if #empty > 0 then
  local since = {}
  for _, topic in ipairs(empty) do
    since[#since + 1] = now
    since[#since + 1] = topic
  end
  redis.call('ZADD', KEYS[2], 'NX', unpack(since))
  for i, at in ipairs(redis.call('ZMSCORE', KEYS[2], unpack(empty))) do
    if now - at >= tonumber(ARGV[2]) then
      gone[#gone + 1] = empty[i]
      due[empty[i]] = nil
    end
  end
end
local later = {}
for topic, at in pairs(due) do
  later[#later + 1] = at
  later[#later + 1] = topic
end
if #later > 0 then redis.call('ZADD', KEYS[1], 'XX', unpack(later)) end
if #gone > 0 then
  redis.call('ZREM', KEYS[1], unpack(gone))
  redis.call('ZREM', KEYS[2], unpack(gone))
  local nowhere = {}
  for i, at in ipairs(redis.call('ZMSCORE', KEYS[3], unpack(gone))) do
    if not at then nowhere[#nowhere + 1] = gone[i] end
  end
  if #nowhere > 0 then redis.call('ZREM', KEYS[4], unpack(nowhere)) end
end
for _, key in ipairs(KEYS) do keep(key) end
return redis.call('ZCARD', KEYS[4])
