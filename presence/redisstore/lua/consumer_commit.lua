-- Writes entries of a consumer's record, if its holder asks: Store.CommitConsumer.
-- KEYS    as consumer_claim.lua
-- ARGV    1 now, as time.lua; 2 the holder; 3 for how long it holds the record from now
--         on, ms; 4 how many steps the log keeps, about; 5 how many arguments are
--         entries that the record must have; 6 how many are entries to set; then both,
--         key and value; the rest are keys to delete
-- Returns the state (0 missing, or not as expected; 1 taken; 2 held). No entry changes unless
--         it is held.
-- Cost    O(entries); at most 500 of them
local was = redis.call('HMGET', KEYS[1], '=holder', '=version')
if not was[1] then return 0 end
if was[1] ~= ARGV[2] then return 1 end
local first = 6 + ARGV[5]
for i = 7, first, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) ~= ARGV[i + 1] then
    redis.call('HINCRBY', KEYS[1], '=version', 1000) -- no reader has the steps that come after those that were lost
    return 0
  end
end
local changes = #ARGV > first
local version = string.format('%.0f', was[2] + (changes and 1 or 0))
redis.call('HSET', KEYS[1], '=until', string.format('%.0f', now + ARGV[3]), '=version', version)
redis.call('PEXPIRE', KEYS[1], KEEP)
if not changes then return 2 end
local last = first + ARGV[6]
local step = {}
for i = first + 1, last, 2 do step[#step + 1], step[#step + 2] = '+' .. ARGV[i], ARGV[i + 1] end
for i = last + 1, #ARGV do step[#step + 1], step[#step + 2] = '-' .. ARGV[i], '' end
if last > first then redis.call('HSET', KEYS[1], unpack(ARGV, first + 1, last)) end
if #ARGV > last then redis.call('HDEL', KEYS[1], unpack(ARGV, last + 1, #ARGV)) end
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[4], version .. '-0', unpack(step))
redis.call('PEXPIRE', KEYS[2], KEEP)
return 2
