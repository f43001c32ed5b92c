-- Returns topics by their names: Store.Topics.
-- KEYS    1 topics: zset of the topics in due and views, all of score 0, so by name; 2 due,
--         3 views
-- ARGV    1 the name after which it begins; 2 how many at most, 500
-- Returns {the topics, where it looks next; empty: nowhere}
-- Cost    about 1 us a topic. Topics that a node of the version before took out of due and
--         views are removed.
local found = redis.call('ZRANGE', KEYS[1], '(' .. ARGV[1], '+', 'BYLEX', 'LIMIT', 0, ARGV[2])
if #found == 0 then return {found, ''} end
local due, views = redis.call('ZMSCORE', KEYS[2], unpack(found)), redis.call('ZMSCORE', KEYS[3], unpack(found))
local there, gone = {}, {}
for i, topic in ipairs(found) do
  local to = (due[i] or views[i]) and there or gone
  to[#to + 1] = topic
end
if #gone > 0 then redis.call('ZREM', KEYS[1], unpack(gone)) end
return {there, #found == tonumber(ARGV[2]) and found[#found] or ''}
