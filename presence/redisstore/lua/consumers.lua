-- The record of a consumer (rule 11).
-- KEYS    1 record: hash of the entries, of =holder, and of =until: when its time is over, ms

-- [consumer_claim] Makes a holder the one that may write a consumer's record: Store.ClaimConsumer.
-- ARGV    1 now, as time.lua; 2 the holder; 3 for how long, ms; 4 whether a record that
--         is missing is made: 0 or 1; 5 whether it may be taken from another holder: 0 or 1
-- Returns the state (0 missing, 1 taken, 2 held, 3 free to be taken); and how long nobody held it, ms.
-- Cost    O(1)
local was = redis.call('HMGET', KEYS[1], '=holder', '=until')
local idle = 0
if not was[1] then
  if ARGV[4] == '0' then return {0, 0} end
  redis.call('UNLINK', KEYS[1])
elseif was[1] ~= ARGV[2] then
  if tonumber(was[2]) > now then return {1, 0} end
  if ARGV[5] == '0' then return {3, 0} end
  idle = math.max(now - was[2], 1)
end
redis.call('HSET', KEYS[1], '=holder', ARGV[2], '=until', string.format('%.0f', now + ARGV[3]))
redis.call('PEXPIRE', KEYS[1], KEEP)
return {2, idle}

-- [consumer_commit] Writes entries of a consumer's record, if its holder asks: Store.CommitConsumer.
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
