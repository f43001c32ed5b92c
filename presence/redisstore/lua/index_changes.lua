-- Reads which topics' figures may have changed: Store.Changes.
-- KEYS    1 changed, 2 unnoted: as index_changed.lua
-- ARGV    1 the era as it was, 2 the number of the latest change then; 3 a name for the era, if it
--         has none; 4 how many topics at most
-- Returns the era, the number of the latest change, and the topics that changed since. The era is
--         empty while a node does not note changes. Topics are missing if the era is another one, or
--         if there are too many.
-- Cost    O(log topics) for each of them, and 20 us for INFO
--
-- The era is a random name with that of the server's process. A wipe, an eviction of the set and a start
-- with an old file end it. A user who may not ask INFO gets it without the process.
if redis.call('EXISTS', KEYS[2]) == 1 then return {'', '0'} end
local name = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '-inf')[1]
if not name then
  name = '=' .. ARGV[3]
  redis.call('ZADD', KEYS[1], '-inf', name)
  keep(KEYS[1])
end
local info = redis.pcall('INFO', 'server')
local era = name .. (type(info) == 'string' and string.match(info, 'run_id:%w+') or '')
local last = redis.call('ZSCORE', KEYS[1], '=') or '0'
local topics = {}
if era == ARGV[1] and last - ARGV[2] <= tonumber(ARGV[4]) then
  topics = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[2], '+inf')
end
table.insert(topics, 1, last)
table.insert(topics, 1, era)
return topics
