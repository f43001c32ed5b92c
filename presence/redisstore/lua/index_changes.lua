-- Reads which topics' figures may have changed: Store.Changes.
-- KEYS    1 changed, as index_changed.lua; 2 era: a random name, which is lost if the store is wiped
-- ARGV    1 now, as time.lua; 2 since when, ms; 3 a name for the era, if it has none; 4 how long
--         that stays, ms; 5 how many topics at most
-- Returns now, the era, and the topics
-- Cost    O(log topics) for each of them
redis.call('SET', KEYS[2], ARGV[3], 'NX', 'PX', ARGV[4])
local topics = redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[2], '+inf', 'LIMIT', 0, ARGV[5])
table.insert(topics, 1, redis.call('GET', KEYS[2]))
table.insert(topics, 1, string.format('%.0f', now))
return topics
