-- Writes entries of a consumer's record, if its holder asks: Store.CommitConsumer.
-- KEYS    as consumer_claim.lua
-- ARGV    1 now, as time.lua; 2 the holder; 3 for how long it holds the record from now
--         on, ms; 4 how many arguments are entries that the record must have; 5 how many
--         are entries to set; then both, key and value; the rest are keys to delete
-- Returns {the state (0 missing, or not as expected; 1 taken; 2 held)}. Nothing changes unless
--         it is held.
-- Cost    O(entries); at most 500 of them
local holder = redis.call('HGET', KEYS[1], '=holder')
if not holder then return {0} end
if holder ~= ARGV[2] then return {1} end
local first = 5 + ARGV[4]
for i = 6, first, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) ~= ARGV[i + 1] then return {0} end
end
local last = first + ARGV[5]
redis.call('HSET', KEYS[1], '=until', string.format('%.0f', now + ARGV[3]), unpack(ARGV, first + 1, last))
redis.call('PEXPIRE', KEYS[1], KEEP)
if #ARGV > last then redis.call('HDEL', KEYS[1], unpack(ARGV, last + 1, #ARGV)) end
return {2}
